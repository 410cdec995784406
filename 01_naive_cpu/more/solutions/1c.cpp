      // By the vector's member functions.
      if (const float* first = args.initial_state; first == nullptr) {
        state.assign(K * V, 0.0f);
      } else {
        state.assign(first + V * K * head, first + V * K * (head + 1));
      }
