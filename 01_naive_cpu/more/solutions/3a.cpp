        // The decay's place is summed up first.
        const std::int64_t decay = h * K + t * args.log_w_stride_T + b * args.log_w_stride_B;
        const float* const log_w = &args.log_w[decay];
// ----
            // One change after the other.
            s *= std::exp(log_w[ik]);
            s += kv;
