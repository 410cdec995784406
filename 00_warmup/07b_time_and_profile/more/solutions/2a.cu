    // By the number of the piece; the usual flags.
    if (first >= kBuffers * piece)
      CUDA_CHECK(cudaStreamWaitEvent(copies.stream, empty[buffer].event, 0));
// ----
    const cudaEvent_t emptied = empty[buffer].event;
    CUDA_CHECK(cudaEventRecord(emptied, kernels.stream));
