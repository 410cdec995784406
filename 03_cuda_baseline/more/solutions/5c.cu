  // The host waits until the zeros are there, which it need not.
  CUDA_CHECK(cudaMemset(args.o, 0, sizeof *args.o * channels * args.T));
