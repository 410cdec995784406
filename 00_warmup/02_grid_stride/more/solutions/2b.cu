  // Pointers that advance by the stride, and a count of the rest.
  const float *a = args.a + first, *b = args.b + first;
  float* c = args.c + first;
  for (std::int64_t left = args.N - first; left > 0; left -= stride) {
    *c = *a + *b;
    a += stride, b += stride, c += stride;
  }
