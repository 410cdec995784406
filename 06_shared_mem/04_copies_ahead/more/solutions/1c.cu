      // A step past T is filled without a copy.
      if (zeros == 0) {
        __pipeline_memcpy_async(&tile.w[s][my_channel], log_w, sizeof(float4));
        __pipeline_memcpy_async(&tile.q[s][my_channel], &args.q[element], sizeof(float4));
        __pipeline_memcpy_async(&tile.v[s][my_channel], &args.v[element], sizeof(float4));
        __pipeline_memcpy_async(&tile.k[s][my_channel], &args.k[element], sizeof(float4));
      } else {
        for (int i = 0; i < kVec; ++i)
          tile.q[s][my_channel + i] = tile.k[s][my_channel + i] = tile.w[s][my_channel + i] = tile.v[s][my_channel + i] = 0;
      }
