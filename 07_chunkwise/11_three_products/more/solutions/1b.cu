    // What is not kept is subtracted.
    Parts parts;
    const std::uint32_t rounded = __float_as_uint(x) + kHalf;
    parts.big = rounded - (rounded & ~kKept);
    const std::uint32_t rest = __float_as_uint(x - __uint_as_float(parts.big));
    parts.small = rest - (rest & ~kKept);
    return parts;
