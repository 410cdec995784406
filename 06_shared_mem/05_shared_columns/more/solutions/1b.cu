    // The upper lane first swaps its halves.
    if (upper) {
      const float lower_sum = sums[i];
      sums[i] = sums[i + kHalf];
      sums[i + kHalf] = lower_sum;
    }
    sums[i] += __shfl_xor_sync(0xffffffff, sums[i + kHalf], distance);
