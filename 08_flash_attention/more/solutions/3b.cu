      // The score becomes its weight in place.
      scores[key] = expf(scores[key] - base);
      for (int d = kD - kVec; d >= 0; d -= kVec) {
        float v4[kVec];
        copy(v4, v_smem[key] + d);
        for (int i = 0; i < kVec; ++i)
          o[d + i] = fmaf(v4[i], scores[key], o[d + i]);
      }
      sum += scores[key];
