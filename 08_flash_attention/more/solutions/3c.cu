      // A masked key's weight is not computed.
      float v4[kVec], weight = 0.0f;
      if (scores[key] != -INFINITY) weight = expf(scores[key] - base);
      for (int d = 0; d < kD; d += kVec) {
        copy(v4, &v_smem[key][d]);
        for (int i = 0; i < kVec; ++i)
          o[d + i] = o[d + i] + v4[i] * weight;
      }
      sum = sum + weight;
