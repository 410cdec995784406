        // By the decays as they lie in their places.
        blocks.q[right + i][e] *= blocks.decay[right - 1][e];
        blocks.k[left + i][e] *= blocks.decay[last][e];
// ----
      blocks.decay[last][e] = blocks.decay[last][e] * blocks.decay[left + size - 1][e];
