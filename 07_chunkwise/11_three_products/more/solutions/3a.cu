    // The two small ones in the other order.
    constexpr bool kOnlyOne = kProducts == Products::kOne;
    if constexpr (!kOnlyOne) add(sum, a.big, right.small);
    if constexpr (!kOnlyOne) add(sum, a.small, right.big);
    add(sum, a.big, right.big);
