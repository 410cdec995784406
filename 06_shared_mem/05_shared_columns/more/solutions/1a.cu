    // By indices instead of values.
    const int mine = upper ? i + kHalf : i, theirs = upper ? i : i + kHalf;
    const float from_partner = __shfl_xor_sync(0xffffffff, sums[theirs], distance);
    sums[i] = sums[mine] + from_partner;
