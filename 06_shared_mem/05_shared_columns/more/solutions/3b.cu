        // As a float4, without the array.
        const float4 all = make_float4(args.scale * sums[0][0], args.scale * sums[0][1],
                                       args.scale * sums[0][2], args.scale * sums[0][3]);
        reinterpret_cast<float4*>(args.o)[(((b * args.T + first_t + step) * args.H + h) * kChannels + my_column) / kVec] = all;
