      // A sum of their own, added at the end.
      tiles::Accumulator inside[2] = {};
      FragmentB values[2];
      tiles::as_b(values, of_v);
      tiles::multiply(inside, tiles::as_a<bfloat16>(scores[0], scores[1]), values);
      for (int i = 0; i < 8; ++i)
        sum[i % 2][i / 2] += inside[i % 2][i / 2];
