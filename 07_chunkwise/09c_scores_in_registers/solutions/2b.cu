      // The scores packed by hand; V loaded once more.
      FragmentA of_scores;
      for (int i = 0; i < 4; ++i)
        of_scores.x[i] =
            ladder::cuda::pack_bf16(scores[i / 2][i % 2 * 2], scores[i / 2][i % 2 * 2 + 1]);
      load_b_kn(factor, v, unit, mine, lane);
      tiles::multiply(sum, of_scores, factor);
