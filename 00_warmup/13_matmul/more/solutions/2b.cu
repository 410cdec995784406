    const float a = *(args.a + m * args.K + k), b = *(args.b + k * args.N + n);
    sum = sum + b * a;
