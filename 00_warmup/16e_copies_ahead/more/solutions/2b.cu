    // Without empty groups at the end: there the number of groups in flight shrinks to none.
    if (tile + kStages - 1 < count) {
      fetch(tile + kStages - 1);
      __pipeline_commit();
      __pipeline_wait_prior(kStages - 1);
    } else {
      __pipeline_wait_prior(0);
    }
