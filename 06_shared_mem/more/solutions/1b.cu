      // Through registers that begin as zeros; by address.
      float q_row = 0.0f, k_row = 0.0f, decay = 0.0f;
      if (ik < K) {
        decay = expf(load(&log_w[ik]));
        k_row = load(&k[ik]);
        q_row = load(&q[ik]);
      }
      w_smem[ik] = decay, k_smem[ik] = k_row, q_smem[ik] = q_row;
