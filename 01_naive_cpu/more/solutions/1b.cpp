      // By row and column, with a named function.
      const auto first = [&](std::int64_t ik, std::int64_t iv) {
        return args.initial_state == nullptr ? 0.0f : args.initial_state[(head * K + ik) * V + iv];
      };
      for (std::int64_t ik = 0; ik < K; ++ik) {
        for (std::int64_t iv = 0; iv < V; ++iv) state[ik * V + iv] = first(ik, iv);
      }
