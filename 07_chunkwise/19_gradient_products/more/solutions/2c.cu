    // The whole chunk's sum first; from the first step on what lies before a step is taken away again.
    pairs_beyond = pairs_beyond + left * from_adjoint;
// ----
    float sum = pairs_beyond;
#pragma unroll
    for (int s = 0; s < kChunk; ++s)
      sum += q[s] * dq[s] - k[s] * dk[s];
#pragma unroll
    for (int s = 0; s < kChunk; ++s) {
      sum -= q[s] * dq[s];
      d_log_w[s] = sum;
      sum += k[s] * dk[s];
    }
