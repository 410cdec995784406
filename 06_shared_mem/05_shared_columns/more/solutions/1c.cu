    // With the lane's number in place of the exclusive or: a shuffle in groups of four.
    const float low = sums[i], high = sums[i + kHalf];
    const float got = __shfl_sync(0xffffffff, upper ? low : high, lane ^ distance, kRowLanes);
    sums[i] = (upper ? high : low) + got;
