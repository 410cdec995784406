        // Over all four steps, with a condition.
        const float q_before = q4[i];
        q4[i] = q_before * decay[i];
        decay[i] *= w;
        for (int earlier = 0; earlier < kUnit; ++earlier) {
          if (earlier >= a) continue;
          score[a][earlier] = fmaf(q_before, k_left[earlier][i], score[a][earlier]);
          k_left[earlier][i] *= w;
        }
