    for (std::int64_t tap = lane; tap < tile_height * tile_width; tap += kWarpSize) {
      if (tap / tile_width >= args.KH || tap % tile_width >= args.KW) continue;
      sum += term(args, at, c, tap / tile_width, tap % tile_width);
    }
