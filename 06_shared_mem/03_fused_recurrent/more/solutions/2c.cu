    // The three words of this lane in sequence, by their pointers.
    float* const words[] = {q_smem + lane, k_smem + lane, w_smem + lane};
    const float values[] = {q, k, w};
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 3; ++i)
      *words[i] = values[i];
    __syncwarp();
