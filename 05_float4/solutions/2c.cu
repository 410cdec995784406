      // By the key row, from the last of the four to the first.
      for (int row = ik + kVec - 1; row >= ik; --row) {
        const int i = row - ik;
        const float kv = v * k4[i];
        sums[i] = sums[i] + q4[i] * state[row] + q4[i] * u4[i] * kv;
        state[row] *= expf(log_w4[i]);
        state[row] += kv;
      }
// ----
    o[0] = (sums[3] + sums[2] + sums[1] + sums[0]) * args.scale;
