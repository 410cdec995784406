    // By the numbers of the blocks: an odd one is a right one.
    const bool is_own = size == 0 && l == s;
    const bool is_right_of_it = size > 0 && l / size % 2 == 1 && l / size == s / size + 1;
    if (is_own || is_right_of_it) scores[n / 4][n % 4] = product[n / 4][n % 4];
