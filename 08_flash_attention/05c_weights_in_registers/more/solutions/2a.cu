        // Each of the two B by itself.
        v_smem.load(v, n, d);
#pragma unroll
        for (int b = 0; b < C::kRowBlocks; ++b) {
          multiply(o[b][d / 8], p[b], v[0]);
          multiply(o[b][d / 8 + 1], p[b], v[1]);
        }
