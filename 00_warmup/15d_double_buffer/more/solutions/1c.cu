  // Without store().
  fetch();
  copy_four(&b_smem[0][b_k][b_column], b4);
  for (int i = 3; i >= 0; --i)
    a_smem[0][i + a_k][a_row] = a4[i];
  __syncthreads();
