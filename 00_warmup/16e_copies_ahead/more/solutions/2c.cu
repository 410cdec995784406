    if (count - tile > kStages - 1) fetch(tile + (kStages - 1));
    __pipeline_commit();
    constexpr int kOnTheirWay = kStages - 1;
    __pipeline_wait_prior(kOnTheirWay);
