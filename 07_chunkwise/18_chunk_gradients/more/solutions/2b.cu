      // Read from the array.
      before[p] = left;
      left = w[p] * before[p];
      dq[p] += before[p] * d_score(p);
// ----
      const float d_before = w[p] * d_left;
      d_log_w[p] += d_before * before[p];
      d_left = d_before + q[p] * d_score(p);
