    // By shifts.
    const std::uint32_t big = (__float_as_uint(x) + kHalf) >> 13 << 13;
    const float rest = x - __uint_as_float(big);
    return {big, __float_as_uint(rest) >> 13 << 13};
