    // By the bits in which the two numbers differ.
    const int apart = l ^ s;
    const bool taken = l >= s && apart >= size && (apart == 0 || apart < 2 * size);
    scores[n / 4][n % 4] = taken ? product[n / 4][n % 4] : scores[n / 4][n % 4];
