        // By address of each row's first element; the decay's place is summed up first.
        const float* const q = &args.q[row * K];
        const float* const k = &args.k[row * K];
        const float* const v = &args.v[row * V];
        const float* const u = &args.u[h * K];
        const std::int64_t decay = h * K + t * args.log_w_stride_T + b * args.log_w_stride_B;
        const float* const log_w = &args.log_w[decay];
