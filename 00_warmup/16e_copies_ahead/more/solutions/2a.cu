    const int ahead = tile + kStages - 1;
    if (ahead < count) fetch(ahead);
    __pipeline_commit();
    __pipeline_wait_prior(kStages - 1);
