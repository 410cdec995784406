  // What is left after each division goes into the next.
  channel = blockIdx.x;
  channel *= kThreads;
  channel += threadIdx.x;
// ----
  std::int64_t left = channel;
  iv = left % kHeadSize;
  left /= kHeadSize;
  h = left % args.H;
  b = left / args.H;
