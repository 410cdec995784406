    float* const own = partial + split * args.M * args.N;
    own[at] = total;
// ----
  // From the last split to the first.
  for (int split = splits - 1; split >= 0; --split)
    sum = partial[i + split * count] + sum;
