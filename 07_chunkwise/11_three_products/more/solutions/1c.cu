    // The small part is rounded, too.
    const auto nearest = [](float y) { return kKept & (__float_as_uint(y) + kHalf); };
    const std::uint32_t big = nearest(x);
    return {big, nearest(x - __uint_as_float(big))};
