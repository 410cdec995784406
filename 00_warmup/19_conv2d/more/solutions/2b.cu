    // No tile: CUDA divides by any number.
    for (std::int64_t tap = lane; tap < args.KH * args.KW; tap += kWarpSize)
      sum += term(args, at, c, tap / args.KW, tap % args.KW);
