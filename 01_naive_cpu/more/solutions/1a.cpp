      // A pointer to the head's part; the condition is outside the loops.
      for (float& s : state) s = 0.0f;
      if (args.initial_state != nullptr) {
        const float* from = args.initial_state + head * K * V;
        for (std::int64_t i = 0; i < K * V; ++i) state[i] = from[i];
      }
