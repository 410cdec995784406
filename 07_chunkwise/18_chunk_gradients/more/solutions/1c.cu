      // The decay of step s reaches what lies beyond it, not s itself.
      left[m] = (backward ? args.forward.scale : 1.0f) * decay;
      left[m] *= backward ? chunk.q[s][n] : chunk.k[s][n];
      decay = chunk.w[s][n] * decay;
// ----
      // From the farthest step to the nearest.
      state[iv] = state[iv] * decay;
      for (int m = kChunk - 1; m >= 0; --m)
        state[iv] += read[backward ? m : kChunk - 1 - m][iv] * left[m];
