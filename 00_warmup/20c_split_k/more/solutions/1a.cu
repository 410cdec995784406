  const int begin = parts_each * split;
  const int end = begin + parts_each < parts ? begin + parts_each : parts;
// ----
    atomicAdd(&args.c[at], total);
