    // The host asks until the answer is yes.
    while (cudaEventQuery(empty[buffer].event) == cudaErrorNotReady) {
    }
// ----
    CUDA_CHECK(cudaEventRecord(empty[buffer].event, kernels.stream));
