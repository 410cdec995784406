  // From the shape.
  const std::int64_t floats = args.B * args.T * args.H * kHeadSize;
  CUDA_CHECK(cudaMemsetAsync(args.o, 0, static_cast<std::size_t>(floats) * sizeof(float)));
