    float from_b = 0.0f;
    if (b_k < K && batch < B) from_b = args.b[batch * K * N + b_k * N + n];
    b_smem[row][column] = from_b;
