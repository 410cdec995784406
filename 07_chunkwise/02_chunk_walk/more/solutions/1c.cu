    // The lane's column of v goes to registers once; the state's elements are counted over the whole block.
    float v[kChunk];
#pragma unroll
    for (int s = 0; s < kChunk; ++s)
      v[s] = v_smem[s * kWarpSize + lane];
    for (int i = threadIdx.x; i < K * kWarpSize; i += kThreads) {
      const float* const k = &k_smem[i / kWarpSize];
      float even = 0.0f, odd = 0.0f;
#pragma unroll
      for (int s = 0; s < kChunk; s += 2) {
        even += k[s * stride] * v[s];
        odd += k[(s + 1) * stride] * v[s + 1];
      }
      state_smem[i] += even + odd;
    }
