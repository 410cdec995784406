        // From the last column down, and the address in parts.
        for (int c = kColumns - 1; c >= 0; --c)
          o4[c] = sums[0][c] * args.scale;
        const std::int64_t t = first_t + step;
        move(&args.o[b * args.T * args.H * kChannels + t * args.H * kChannels + h * kChannels + my_column], o4);
