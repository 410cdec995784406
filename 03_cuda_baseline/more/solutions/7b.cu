  // The error is not cleared.
  CUDA_CHECK(cudaPeekAtLastError());
