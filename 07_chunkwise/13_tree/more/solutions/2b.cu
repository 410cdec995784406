    // By the places in the joined block.
    const int joined = 2 * size;
    if (size == 0) {
      if (l == s) scores[n / 4][n % 4] = product[n / 4][n % 4];
    } else if (l / joined == s / joined && l % joined >= size && s % joined < size) {
      scores[n / 4][n % 4] = product[n / 4][n % 4];
    }
