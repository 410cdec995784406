      // By fmaf.
      before[p] = left;
      dq[p] = fmaf(left, d_score(p), dq[p]);
      left = left * w[p];
// ----
      d_left = w[p] * d_left;
      d_log_w[p] = fmaf(d_left, before[p], d_log_w[p]);
      d_left = fmaf(q[p], d_score(p), d_left);
