    sum = fmaf(args.a[m * args.K + k], args.b[n + k * args.N], sum);
