          // A pointer to the key, and a while loop.
          const float* const k = args.k + key_row * K;
          std::int64_t ik = 0;
          while (ik < K) {
            const float feature = phi(args.feature_map, k[ik]);
            phi_k[ik] = feature;
            z[ik] += feature;
            ++ik;
          }
