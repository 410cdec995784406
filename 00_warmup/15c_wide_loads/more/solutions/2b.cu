    // A pointer that moves down a column of the transposed tile.
    float* to = &a_smem[a_k][a_row];
    for (const float each : a4) {
      *to = each;
      to += kTile + kSpace;
    }
    *reinterpret_cast<float4*>(&b_smem[b_k][b_column]) = *reinterpret_cast<const float4*>(b4);
