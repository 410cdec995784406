      // By powers of 2.
      const auto factor = [](float log_decay) {
        return ladder::cuda::exp2_flushed(ladder::cuda::kLog2e * log_decay);
      };
      k[e] *= factor(end[e] - behind[e]), q[e] *= factor(before[e]);
