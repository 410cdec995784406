      // The index in the whole array, the opposite condition, and pointers into shared memory.
      const std::int64_t at = token * K + ik;
      const bool beyond = ik >= K;
      *(w_smem + ik) = beyond ? 0.0f : expf(load(log_w + ik));
      *(q_smem + ik) = beyond ? 0.0f : load(args.q + at);
      *(k_smem + ik) = beyond ? 0.0f : load(args.k + at);
