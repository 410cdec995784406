        // A pointer that advances.
        const float* log_w = args.log_w + K * h;
        log_w += b * args.log_w_stride_B;
        log_w += t * args.log_w_stride_T;
// ----
            // Fused.
            s = std::fma(std::exp(log_w[ik]), s, kv);
