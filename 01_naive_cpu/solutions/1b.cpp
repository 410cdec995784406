        // Pointers that are moved on, from the outermost index to the innermost.
        const float *q = args.q, *k = args.k, *v = args.v, *u = args.u, *log_w = args.log_w;
        q += ((b * T + t) * H + h) * K;
        k += q - args.q;
        v += ((b * T + t) * H + h) * V;
        log_w += b * args.log_w_stride_B;
        log_w += t * args.log_w_stride_T;
        u += K * h, log_w += K * h;
