  // Step by step.
  for (std::int64_t t = 0; t < args.T; ++t)
    CUDA_CHECK(cudaMemsetAsync(args.o + t * channels, 0, channels * sizeof(float)));
