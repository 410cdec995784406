      // A branch for each direction.
      if (backward) {
        left[m] = args.forward.scale * decay * chunk.q[s][n];
      } else {
        left[m] = decay * chunk.k[s][n];
      }
      decay *= chunk.w[s][n];
// ----
      // The chunk's own part first.
      float added = 0.0f;
      for (int m = 0; m < kChunk; ++m) {
        const int s = backward ? m : kChunk - 1 - m;
        added = fmaf(left[m], read[s][iv], added);
      }
      state[iv] = fmaf(decay, state[iv], added);
