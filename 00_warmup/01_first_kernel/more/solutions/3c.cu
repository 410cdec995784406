  // The sum overwrites a, and the copies are asynchronous ones of one stream.
  check(cudaMalloc(reinterpret_cast<void**>(&device_a), bytes), "cudaMalloc of a");
  check(cudaMalloc(reinterpret_cast<void**>(&device_b), bytes), "cudaMalloc of b");
  device_c = device_a;
  check(cudaMemcpyAsync(device_a, a, bytes, cudaMemcpyHostToDevice, 0), "the copy of a");
  check(cudaMemcpyAsync(device_b, b, bytes, cudaMemcpyHostToDevice, 0), "the copy of b");
  launch_add(device_a, device_b, device_c, N);
  check(cudaMemcpyAsync(c, device_c, bytes, cudaMemcpyDeviceToHost, 0), "the copy of c");
  check(cudaStreamSynchronize(0), "the kernel");
  for (float* each : {device_a, device_b})
    check(cudaFree(each), "cudaFree");
