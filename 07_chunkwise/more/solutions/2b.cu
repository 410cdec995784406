          // The key's element in a register of its own, and a fused multiply-add.
          for (float *k = key[n], *end = k + kVec; k != end; ++k) {
            const float before = *k;
            *k = before * w4[k - key[n]];
            score = fmaf(before, q4[k - key[n]], score);
          }
