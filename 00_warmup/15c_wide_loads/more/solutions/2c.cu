    for (int i = 3; i >= 0; --i)
      a_smem[i + a_k][a_row] = a4[i];
    const float4 four = make_float4(b4[0], b4[1], b4[2], b4[3]);
    *reinterpret_cast<float4*>(&b_smem[b_k][b_column]) = four;
