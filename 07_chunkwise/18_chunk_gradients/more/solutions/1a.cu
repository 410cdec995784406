      // What the step has, then the decay.
      const float mine = backward ? chunk.q[s][n] * args.forward.scale : chunk.k[s][n];
      left[m] = mine * decay;
      decay = decay * chunk.w[s][n];
// ----
      float sum = decay * state[iv];
      for (int m = 0; m < kChunk; ++m)
        sum += left[m] * read[backward ? m : kChunk - 1 - m][iv];
      state[iv] = sum;
