    // The host waits for all copies so far.
    CUDA_CHECK(cudaStreamSynchronize(copies.stream));
