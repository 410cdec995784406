    // The small part is rounded, too.
    const auto nearest = [](float y) { return kKept & (__float_as_uint(y) + kHalf); };
    parts.big = nearest(x);
    parts.small = nearest(x - __uint_as_float(parts.big));
