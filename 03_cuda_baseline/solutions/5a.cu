  const std::int64_t bytes = args.B * args.T * args.H * args.V * static_cast<std::int64_t>(sizeof(float));
  CUDA_CHECK(cudaMemsetAsync(args.o, 0, static_cast<std::size_t>(bytes)));
