      // The second four are 16 rows and 32 columns after the first.
      const float* const a_first = &a_smem[k][row_of(0)];
      const float* const b_first = &b_smem[k][column_of(0)];
      copy_four(b, b_first), copy_four(b + 4, b_first + 32);
      copy_four(a, a_first), copy_four(a + 4, a_first + 16);
