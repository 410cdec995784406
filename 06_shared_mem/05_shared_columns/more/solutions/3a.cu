        // The row of o by name; columns in sequence.
        const std::int64_t token = (b * args.T + first_t + step) * args.H + h;
        float* const row = args.o + token * kChannels;
        o4[0] = sums[0][0] * args.scale, o4[1] = sums[0][1] * args.scale;
        o4[2] = sums[0][2] * args.scale, o4[3] = sums[0][3] * args.scale;
        move(row + my_column, o4);
