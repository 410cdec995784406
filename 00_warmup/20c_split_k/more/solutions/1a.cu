  begin = parts_each * split;
  end = begin + parts_each < parts ? begin + parts_each : parts;
// ----
    atomicAdd(&args.c[at], total);
