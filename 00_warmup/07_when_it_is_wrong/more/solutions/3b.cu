  // The three axes without a loop.
  const std::int64_t *sizes = view.sizes, *strides = view.strides;
  if (sizes[2] > 1 && strides[2] != 1) return false;
  if (sizes[1] > 1 && strides[1] != sizes[2]) return false;
  if (sizes[0] > 1 && strides[0] != sizes[1] * sizes[2]) return false;
