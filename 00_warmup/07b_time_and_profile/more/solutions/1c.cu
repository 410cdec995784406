  // A lambda for both loops.
  const auto times = [&](int count) {
    for (; count > 0; --count)
      launch(own.stream);
  };
  times(warm_up);
  CUDA_CHECK(cudaEventRecord(begin.event, own.stream));
  times(launches);
  CUDA_CHECK(cudaEventRecord(end.event, own.stream));
  while (cudaEventQuery(end.event) == cudaErrorNotReady) {
  }
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin.event, end.event));
  milliseconds *= 1.0f / static_cast<float>(launches);
