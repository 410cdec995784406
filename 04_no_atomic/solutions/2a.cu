    // By index.
    o[0] = sum * args.scale;
