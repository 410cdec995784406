  // Axes of one element are skipped; the elements so far are counted.
  std::int64_t elements = 1;
  int axis = 3;
  while (axis-- > 0) {
    if (view.sizes[axis] == 1) continue;
    if (view.strides[axis] != elements) return false;
    elements = elements * view.sizes[axis];
  }
