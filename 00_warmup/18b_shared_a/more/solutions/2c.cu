    // Column j without its batch's first one is n.
    if (batch >= B || b_k >= K)
      b_smem[row][column] = 0;
    else
      b_smem[row][column] = args.b[j + N * (b_k + batch * (K - 1))];
