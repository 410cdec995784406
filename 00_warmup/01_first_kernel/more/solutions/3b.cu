  // One allocation for all three.
  check(cudaMalloc(&device_a, 3 * bytes), "cudaMalloc");
  device_b = device_a + N;
  device_c = device_b + N;
  check(cudaMemcpy(device_a, a, bytes, cudaMemcpyDefault), "the copy of a");
  check(cudaMemcpy(device_b, b, bytes, cudaMemcpyDefault), "the copy of b");
  launch_add(device_a, device_b, device_c, N);
  check(cudaMemcpy(c, device_c, bytes, cudaMemcpyDefault), "the kernel, or the copy of c");
  check(cudaFree(device_a), "cudaFree");
