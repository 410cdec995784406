        // The sums by pointers; the last queries first.
        v_smem.load(v, n, d);
#pragma unroll
        for (int b = C::kRowBlocks - 1; b >= 0; --b) {
          Accumulator* const sums = o[b] + d / 8;
          multiply(sums[0], sums[1], p[b], v);
        }
