    float all = 0.0f;
    for (int i = 0; i < kVec; ++i)
      all += sums[i];
    *o = all * args.scale;
