    partial[at + args.N * args.M * split] = total;
// ----
  const float* of_split = partial + i;
  for (int split = 0; split < splits; ++split, of_split += count)
    sum += *of_split;
