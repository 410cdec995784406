      // Both packed and picked by hand, in loops.
      FragmentA of_scores;
      for (int i = 0; i < 4; ++i) {
        const float* const two = &scores[i / 2][i % 2 * 2];
        of_scores.x[i] = ladder::cuda::pack_bf16(two[0], two[1]);
        factor[i % 2].x[i / 2] = of_v.x[i];
      }
      tiles::multiply(sum, of_scores, factor);
