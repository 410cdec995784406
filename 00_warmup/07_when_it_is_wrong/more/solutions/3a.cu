  // From the first axis on: a stride is the product of the sizes after it.
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t behind = 1;
    for (int later = axis + 1; later < 3; ++later)
      behind *= view.sizes[later];
    if (view.sizes[axis] != 1 && view.strides[axis] != behind) return false;
  }
