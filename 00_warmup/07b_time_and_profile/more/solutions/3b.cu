    // The host waits, and launches the kernel afterwards.
    CUDA_CHECK(cudaEventRecord(full[buffer].event, copies.stream));
    CUDA_CHECK(cudaEventSynchronize(full[buffer].event));
