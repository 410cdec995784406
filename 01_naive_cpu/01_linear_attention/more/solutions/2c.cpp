        // From the last visible key to the first.
        std::int64_t s = visible;
        while (s > 0) {
          --s;
          const float score = dot(phi_q.data(), &phi_k[K * s], K);
          denominator = score + denominator;
          scores[s] = score;
        }
