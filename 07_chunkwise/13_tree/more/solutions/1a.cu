        // From the last token to the first.
        blocks.q[last - i][e] = of_left * blocks.q[last - i][e];
        blocks.k[right - 1 - i][e] = of_right * blocks.k[right - 1 - i][e];
// ----
      blocks.decay[last][e] *= of_left;
