      // With names for the parts.
      const auto [x, y] = a.x[i + half + half];
      const auto [big_x, small_x] = split<kProducts>(x);
      const auto [big_y, small_y] = split<kProducts>(y);
      parts.big[half].x[i] = big_x, parts.big[half].x[i | 2] = big_y;
      parts.small[half].x[i] = small_x, parts.small[half].x[i | 2] = small_y;
