      // By the score's place in the chunk's square: behind the diagonal.
      const bool behind = i > l * (kChunk + 1);
      if (behind) score = 0.0f;
