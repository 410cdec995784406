    // The host waits, and enqueues the copies afterwards.
    CUDA_CHECK(cudaEventSynchronize(empty[buffer].event));
// ----
    CUDA_CHECK(cudaEventRecord(empty[buffer].event, kernels.stream));
