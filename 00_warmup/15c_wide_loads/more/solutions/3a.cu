      copy_four(a, &a_smem[k][row_of(0)]);
      copy_four(a + 4, &a_smem[k][row_of(4)]);
      copy_four(b, &b_smem[k][column_of(0)]);
      copy_four(b + 4, &b_smem[k][column_of(4)]);
