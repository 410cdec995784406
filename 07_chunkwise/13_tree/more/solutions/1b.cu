        // By references.
        float& query = blocks.q[left + size + i][e];
        float& key = blocks.k[right - size + i][e];
        query *= of_left, key *= of_right;
// ----
      float& whole = blocks.decay[left + 2 * size - 1][e];
      whole = of_right * of_left;
