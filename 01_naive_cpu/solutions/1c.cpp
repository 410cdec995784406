        // A function of a row; the head's rows of u and of the decay lie equally far from their begins.
        const auto row_of = [&](const float* x, std::int64_t width) { return x + width * row; };
        const std::int64_t of_head = K * h;
        const float* u = args.u + of_head;
        const float* log_w = args.log_w + of_head;
        log_w += args.log_w_stride_T * t + args.log_w_stride_B * b;
        const float *q = row_of(args.q, K), *k = row_of(args.k, K), *v = row_of(args.v, V);
