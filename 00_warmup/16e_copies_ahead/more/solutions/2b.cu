    // Without empty groups at the end: there the number of those that may be on their way shrinks, to none.
    if (tile + kStages - 1 < count) {
      fetch(tile + kStages - 1);
      __pipeline_commit();
      __pipeline_wait_prior(kStages - 1);
    } else {
      __pipeline_wait_prior(0);
    }
