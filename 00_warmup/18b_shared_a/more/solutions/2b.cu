    // The rows of all batches are counted through, too.
    const std::int64_t b_row = batch * K + b_k;
    b_smem[row][column] = b_k >= K || j >= B * N ? 0.0f : (args.b + b_row * N)[n];
