  int asked = 0;
  while (asked < kStages - 1) {
    if (asked < count) fetch(asked);
    ++asked;
    __pipeline_commit();
  }
