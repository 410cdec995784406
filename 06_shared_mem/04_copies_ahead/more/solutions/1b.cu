      // One function for all four.
      const auto copy = [&](float* row, const float* from) {
        __pipeline_memcpy_async(row + my_channel, from, kVec * sizeof(float), zeros);
      };
      copy(tile.q[s], args.q + element);
      copy(tile.k[s], args.k + element);
      copy(tile.v[s], args.v + element);
      copy(tile.w[s], log_w);
