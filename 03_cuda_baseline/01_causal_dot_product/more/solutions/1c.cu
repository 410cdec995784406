      const int place = iv + V * row;
      const float before = kv_smem[place], step = k[row] * v;
      kv_smem[place] = before + step;
      sum = sum + q[row] * (before + step);
