      // Nothing is computed for a key that is not seen.
      scores[key] = -INFINITY;
      if (first + key < keys_seen(args, query)) {
        float k4[kVec], score = 0.0f;
        for (int d = 0; d < kD; d += kVec) {
          copy(k4, k_smem[key] + d);
          for (int i = 0; i < kVec; ++i)
            score = fmaf(k4[i], q[d + i], score);
        }
        scores[key] = score * args.scale;
      }
      if (scores[key] > tile_largest) tile_largest = scores[key];
