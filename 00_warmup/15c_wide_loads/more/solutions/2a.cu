    copy_four(b_smem[b_k] + b_column, b4);
    a_smem[a_k][a_row] = a4[0];
    a_smem[a_k + 1][a_row] = a4[1];
    a_smem[a_k + 2][a_row] = a4[2];
    a_smem[a_k + 3][a_row] = a4[3];
