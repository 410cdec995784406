  // An exception of one's own.
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
    throw ladder::CudaError(cudaGetErrorString(status));
