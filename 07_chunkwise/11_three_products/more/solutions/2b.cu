      // First all big parts, then all small ones.
      FragmentA<Tf32>&big = parts.big[half], &small = parts.small[half];
      const Parts left = split<kProducts>(a.x[half * 2 + i].x);
      const Parts right = split<kProducts>(a.x[half * 2 + i].y);
      big.x[i] = left.big;
      big.x[i + 2] = right.big;
      small.x[i] = left.small;
      small.x[i + 2] = right.small;
