  // The last split ends where K ends.
  const int end = split == splits - 1 ? parts : (split + 1) * parts_each;
  const int begin = split * parts_each;
// ----
    float* const element = args.c + at;
    atomicAdd(element, total);
