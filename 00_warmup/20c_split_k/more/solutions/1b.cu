  // The last split ends where K ends.
  end = split == splits - 1 ? parts : (split + 1) * parts_each;
  begin = split * parts_each;
// ----
    float* const element = args.c + at;
    atomicAdd(element, total);
