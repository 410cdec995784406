    // By shifts.
    parts.big = (__float_as_uint(x) + kHalf) >> 13 << 13;
    const float rest = x - __uint_as_float(parts.big);
    parts.small = __float_as_uint(rest) >> 13 << 13;
