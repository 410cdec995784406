      // A branch for each.
      const int key = 8 * j + s;
      if (key > l) {
        scores[j][i] = 0.0f;
      } else {
        scores[j][i] *= decay_factor(sums.query[i / 2] - sums.key[j][i % 2]);
      }
