  // The arrays in order, freed in the opposite order.
  check(cudaMalloc(&device_a, bytes), "cudaMalloc of a");
  check(cudaMemcpy(device_a, a, bytes, cudaMemcpyHostToDevice), "the copy of a");
  check(cudaMalloc(&device_b, bytes), "cudaMalloc of b");
  check(cudaMemcpy(device_b, b, bytes, cudaMemcpyHostToDevice), "the copy of b");
  check(cudaMalloc(&device_c, bytes), "cudaMalloc of c");
  launch_add(device_a, device_b, device_c, N);
  check(cudaDeviceSynchronize(), "the kernel");
  check(cudaMemcpy(c, device_c, bytes, cudaMemcpyDeviceToHost), "the copy of c");
  check(cudaFree(device_c), "cudaFree of c");
  check(cudaFree(device_b), "cudaFree of b");
  check(cudaFree(device_a), "cudaFree of a");
