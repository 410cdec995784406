        // From the latest of the earlier steps back to the first.
        for (int earlier = a - 1; earlier >= 0; --earlier) {
          float& left = k_left[earlier][i];
          score[a][earlier] += left * q4[i];
          left = left * w;
        }
        const float since_unit = decay[i];
        q4[i] *= since_unit;
        decay[i] = since_unit * w;
