      // dq first; the gradient of log w through what is left behind the step.
      dq[p] += left * d_score(p);
      before[p] = left;
      left *= w[p];
// ----
      const float left_behind = before[p] * w[p];
      d_log_w[p] += left_behind * d_left;
      d_left = d_left * w[p] + d_score(p) * q[p];
