        // The two B one after the other, for all queries.
        v_smem.load(v, n, d);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
          for (int b = 0; b < C::kRowBlocks; ++b)
            multiply(o[b][d / 8 + half], p[b], v[half]);
        }
