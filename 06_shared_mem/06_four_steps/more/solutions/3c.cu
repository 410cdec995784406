          // Backwards, its own score first.
          float of_unit = 0;
          for (int a = kUnit - 1; a >= 0; --a)
            of_unit += v4[a][c] * score[a];
          sum = sum + of_unit;
