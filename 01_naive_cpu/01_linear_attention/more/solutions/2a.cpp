        // The dot product as a loop of its own.
        for (std::int64_t s = 0; s < visible; ++s) {
          const float* const key = &phi_k[s * K];
          float score = 0.0f;
          for (std::int64_t ik = 0; ik < K; ++ik)
            score += key[ik] * phi_q[ik];
          scores[s] = score;
          denominator += score;
        }
