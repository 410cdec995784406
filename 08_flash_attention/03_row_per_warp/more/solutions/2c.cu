    // One exponential: of the two differences one is 0.
    const float above = score - before, smaller = expf(-fabsf(above));
    const bool grows = above > 0.0f;
    const float keep = grows ? smaller : 1.0f, add = grows ? 1.0f : smaller;
    if (grows) m = score;
    for (int c = kChannels - 1; c >= 0; --c)
      o[c] = keep * o[c] + add * load(v + c * kWarpSize);
    l = keep * l + add;
