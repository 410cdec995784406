        // A function of a key row.
        const auto w = [&](std::int64_t ik) {
          return std::exp(args.log_w[b * args.log_w_stride_B + t * args.log_w_stride_T + K * h + ik]);
        };
// ----
            const float decayed = s * w(ik);
            s = decayed + kv;
