  const cudaError_t status = cudaGetLastError();
  CUDA_CHECK(status);
