  // Any odd number of floats is as good: three more.
  columns += 3;
