    // By case: a larger score scales what was there and has the weight 1; any other key scales nothing.
    if (score > before) {
      const float shrink = expf(before - score);
      m = score;
      l = l * shrink + 1.0f;
      for (int c = 0; c < kChannels; ++c)
        o[c] = o[c] * shrink + load(v + c * kWarpSize);
    } else {
      const float p = expf(score - before);
      l += p;
      for (int c = 0; c < kChannels; ++c)
        o[c] += p * load(v + c * kWarpSize);
    }
