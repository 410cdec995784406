    // The sum begins with the state itself; fused multiplications.
    for (int ik = warp; ik < K; ik += kWarps) {
      float state = state_smem[ik * kWarpSize + lane];
      for (int s = 0; s < kChunk; ++s)
        state = fmaf(k_smem[s * stride + ik], v_smem[s * kWarpSize + lane], state);
      state_smem[ik * kWarpSize + lane] = state;
    }
