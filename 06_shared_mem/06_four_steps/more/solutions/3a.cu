          // Written out.
          sum += score[0] * v4[0][c] + score[1] * v4[1][c] + score[2] * v4[2][c] + score[3] * v4[3][c];
