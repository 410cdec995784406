  // From its own parts to those of the next split.
  int begin = 0;
  for (int before = 0; before < split; ++before)
    begin += parts_each;
  int end = begin;
  end += min(parts_each, parts - begin);
// ----
    // C was set to 0.
    if (total != 0.0f) atomicAdd(args.c + at, total);
