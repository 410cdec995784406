  // With an exception of its own.
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
    throw ladder::CudaError(cudaGetErrorString(status));
