  // The error stays where it is.
  CUDA_CHECK(cudaPeekAtLastError());
