      // One float after the other.
      for (int e = 0; e < 2; ++e) {
        const Parts one = split<kProducts>(e == 0 ? a.x[2 * half + i].x : a.x[2 * half + i].y);
        parts.big[half].x[2 * e + i] = one.big;
        parts.small[half].x[2 * e + i] = one.small;
      }
