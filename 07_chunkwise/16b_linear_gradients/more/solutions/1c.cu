    // From the place behind the last token.
    const std::int64_t behind = first + args.T_q * stride;
    stride = 0 - stride;
    first = behind + stride;
