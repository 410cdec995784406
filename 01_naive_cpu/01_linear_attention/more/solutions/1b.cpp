          // Two passes of the standard library: first all features, then all sums.
          const float* const k = &args.k[key_row * K];
          std::transform(k, k + K, phi_k.begin(),
                         [&](float x) { return phi(args.feature_map, x); });
          std::transform(z.begin(), z.end(), phi_k.begin(), z.begin(),
                         [](float x, float y) { return x + y; });
