    // The host polls until the event is complete.
    while (cudaEventQuery(empty[buffer].event) == cudaErrorNotReady) {
    }
// ----
    CUDA_CHECK(cudaEventRecord(empty[buffer].event, kernels.stream));
