      // What is seen, in place of what is not.
      score = s <= l ? score : 0.0f;
