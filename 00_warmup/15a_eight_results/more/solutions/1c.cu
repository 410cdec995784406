      // A pointer that moves down a column of A's tile.
      const float factor = b_smem[k][column];
      const float* a_next = &a_smem[row][k];
      for (float& each : sum) {
        each += *a_next * factor;
        a_next += kDepth;
      }
