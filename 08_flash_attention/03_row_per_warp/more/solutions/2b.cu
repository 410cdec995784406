    // First everything to the new base, then the key.
    const float larger = score > before ? score : before;
    const float keep = expf(before - larger);
    m = larger;
    l *= keep;
    for (float& sum : o)
      sum *= keep;
    const float p = expf(score - larger);
    l += p;
    for (int c = 0; c < kChannels; ++c)
      o[c] = fmaf(p, load(v + c * kWarpSize), o[c]);
