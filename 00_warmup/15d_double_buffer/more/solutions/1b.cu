  // None are needed where K is 0.
  if (K > 0) {
    fetch();
    store(0);
    __syncthreads();
  }
