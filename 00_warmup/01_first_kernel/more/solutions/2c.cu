  // The number of threads is rounded up; the status has a name.
  const std::int64_t over = N % kThreads, threads = over == 0 ? N : N + kThreads - over;
  const unsigned blocks = static_cast<unsigned>(threads / kThreads);
  add_first_kernel<<<blocks, kThreads>>>(a, b, c, N);
  const cudaError_t status = cudaGetLastError();
  check(status, "the launch");
