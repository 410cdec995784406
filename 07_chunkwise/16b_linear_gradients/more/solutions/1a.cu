    // Counted from the sequence's end.
    first = (((b + 1) * args.T_q - 1) * args.H + h) * kChannels;
    stride *= -1;
