      // The registers named one by one.
      factor[0] = {{of_v.x[0], of_v.x[2]}};
      factor[1] = {{of_v.x[1], of_v.x[3]}};
      const FragmentA of_scores = tiles::as_a<bfloat16>(scores[0], scores[1]);
      tiles::multiply(sum[0], of_scores, factor[0]);
      tiles::multiply(sum[1], of_scores, factor[1]);
