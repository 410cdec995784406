  // One loop; the host waits for the stream.
  for (int i = -warm_up; i < launches; ++i) {
    if (i == 0) CUDA_CHECK(cudaEventRecord(begin.event, own.stream));
    launch(own.stream);
  }
  CUDA_CHECK(cudaEventRecord(end.event, own.stream));
  CUDA_CHECK(cudaStreamSynchronize(own.stream));
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin.event, end.event));
  milliseconds = milliseconds / static_cast<float>(launches);
