        // The decay's index is computed first.
        const std::int64_t decay = h * K + t * args.log_w_stride_T + b * args.log_w_stride_B;
        const float* const log_w = &args.log_w[decay];
// ----
            // The changes in sequence.
            s *= std::exp(log_w[ik]);
            s += kv;
