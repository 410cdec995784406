  // No barrier: the lanes of a warp wait for each other, which is more than is needed.
  __syncwarp();
