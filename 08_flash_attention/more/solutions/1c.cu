      // From the last channel to the first; even and odd channels apart.
      float k4[kVec], even = 0.0f, odd = 0.0f;
      for (int d = kD - kVec; d >= 0; d -= kVec) {
        copy(k4, &k_smem[key][d]);
        even += q[d] * k4[0] + q[d + 2] * k4[2];
        odd += q[d + 1] * k4[1] + q[d + 3] * k4[3];
      }
      const bool hidden = first + key >= keys_seen(args, query);
      scores[key] = hidden ? -INFINITY : (even + odd) * args.scale;
      tile_largest = fmaxf(tile_largest, scores[key]);
