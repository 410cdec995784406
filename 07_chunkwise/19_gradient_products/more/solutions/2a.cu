    // By fmaf.
    pairs_beyond = fmaf(from_adjoint, left, pairs_beyond);
// ----
    float sum = pairs_beyond;
#pragma unroll
    for (int s = kChunk - 1; s >= 0; --s) {
      d_log_w[s] = fmaf(-k[s], dk[s], sum);
      sum = fmaf(q[s], dq[s], d_log_w[s]);
    }
