  // As many groups as the main loop expects, whatever K is.
  for (int ahead = 0; ahead + 1 < kStages; ++ahead) {
    if (ahead < count) fetch(ahead);
    __pipeline_commit();
  }
