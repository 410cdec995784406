          // Written out.
          score += (q4[0] * key[n][0] + q4[1] * key[n][1]) + (q4[2] * key[n][2] + q4[3] * key[n][3]);
          key[n][0] *= w4[0], key[n][1] *= w4[1];
          key[n][2] *= w4[2], key[n][3] *= w4[3];
