      // One condition for all three.
      if (ik < K) {
        q_smem[ik] = load(q + ik);
        k_smem[ik] = load(k + ik);
        w_smem[ik] = expf(load(log_w + ik));
      } else {
        q_smem[ik] = 0.0f, k_smem[ik] = 0.0f, w_smem[ik] = 0.0f;
      }
