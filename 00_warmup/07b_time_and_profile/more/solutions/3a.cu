    // With the flags that are the usual ones.
    const cudaEvent_t filled = full[buffer].event;
    CUDA_CHECK(cudaEventRecord(filled, copies.stream));
    CUDA_CHECK(cudaStreamWaitEvent(kernels.stream, filled, 0));
