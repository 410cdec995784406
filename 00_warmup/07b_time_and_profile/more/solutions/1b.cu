  // The host waits for the warm-up, too.
  int left = warm_up;
  while (left-- > 0)
    launch(own.stream);
  CUDA_CHECK(cudaStreamSynchronize(own.stream));
  CUDA_CHECK(cudaEventRecord(begin.event, own.stream));
  for (left = launches; left > 0; --left)
    launch(own.stream);
  CUDA_CHECK(cudaEventRecord(end.event, own.stream));
  CUDA_CHECK(cudaDeviceSynchronize());
  float all = 0;
  CUDA_CHECK(cudaEventElapsedTime(&all, begin.event, end.event));
  milliseconds = all / static_cast<float>(launches);
