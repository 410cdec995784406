    // The way first, then as many steps back along it.
    stride = -stride;
    first -= (args.T_q - 1) * stride;
