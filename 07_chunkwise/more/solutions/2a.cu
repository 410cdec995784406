          // Two loops: all four products, then all four decays.
          for (int i = 0; i < kVec; ++i)
            score += q4[i] * key[n][i];
          for (int i = 0; i < kVec; ++i)
            key[n][i] = w4[i] * key[n][i];
