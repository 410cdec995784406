    // From the array's begin.
    const float scale = args.scale;
    args.o[token * kHeadSize + iv] = scale * sum;
