  // Rounded up as one less, and one more.
  add_first_kernel<<<static_cast<unsigned>((N - 1) / kThreads + 1), kThreads, 0, 0>>>(a, b, c, N);
  check(cudaPeekAtLastError(), "the launch");
