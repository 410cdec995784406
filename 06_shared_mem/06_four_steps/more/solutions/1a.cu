        // The scores first, then the decays.
        for (int b4 = 0; b4 < a; ++b4)
          score[a][b4] = score[a][b4] + k_left[b4][i] * q4[i];
        q4[i] = decay[i] * q4[i];
        for (int b4 = 0; b4 < a; ++b4)
          k_left[b4][i] = w * k_left[b4][i];
        decay[i] = w * decay[i];
