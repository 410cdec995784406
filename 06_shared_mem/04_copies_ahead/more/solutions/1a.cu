      // Addresses as pointers; v first.
      float* const to[] = {tile.v[s] + my_channel, tile.q[s] + my_channel, tile.k[s] + my_channel, tile.w[s] + my_channel};
      const float* const from[] = {args.v + element, args.q + element, args.k + element, log_w};
      for (int n = 0; n < 4; ++n)
        __pipeline_memcpy_async(to[n], from[n], 16, zeros);
