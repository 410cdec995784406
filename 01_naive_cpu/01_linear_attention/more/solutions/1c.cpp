          // From the last channel to the first, and the row's number once more from its parts.
          const float* const end = args.k + ((T_k * b + seen) * H + h + 1) * K;
          for (std::int64_t left = 1; left <= K; ++left) {
            phi_k[K - left] = phi(args.feature_map, *(end - left));
            z[K - left] = phi_k[K - left] + z[K - left];
          }
