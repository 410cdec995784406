    // The difference of each step first, then its sum over the steps from this one on, without the query's own part.
    pairs_beyond += from_adjoint * left;
// ----
    float sum = pairs_beyond;
#pragma unroll
    for (int m = 1; m <= kChunk; ++m) {
      const float of_query = q[kChunk - m] * dq[kChunk - m];
      sum += of_query - k[kChunk - m] * dk[kChunk - m];
      d_log_w[kChunk - m] = sum - of_query;
    }
