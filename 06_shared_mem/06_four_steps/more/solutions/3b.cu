          // Only the steps up to this one: the scores of later steps are 0.
          for (int a = 0; a <= row_lane; ++a)
            sum = fmaf(score[a], v4[a][c], sum);
