    // The lanes share each row of the window.
    for (std::int64_t ky = 0; ky < args.KH; ++ky) {
      for (std::int64_t kx = lane; kx < args.KW; kx += kWarpSize)
        sum = sum + term(args, at, c, ky, kx);
    }
