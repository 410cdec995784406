    // A block of one warp needs a barrier of the warp only.
    if (threads > kWarpSize)
      __syncthreads();
    else
      __syncwarp();
// ----
    if (threads > kWarpSize)
      __syncthreads();
    else
      __syncwarp();
