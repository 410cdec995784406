  // Whole blocks first, then one more for the rest; dim3 instead of numbers.
  std::int64_t blocks = N / kThreads;
  if (N % kThreads != 0) ++blocks;
  const dim3 grid(static_cast<unsigned>(blocks)), block(kThreads);
  add_first_kernel<<<grid, block>>>(a, b, c, N);
  check(cudaGetLastError(), "the launch");
