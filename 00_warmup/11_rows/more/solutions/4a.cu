  // Vector by vector, from the last to the first; a vector is filled or read, never both.
  float4* vectors = reinterpret_cast<float4*>(held);
  for (int i = kHeld / kVec - 1; i >= 0; --i) {
    const int n = column_of<kRowThreads>(i);
    if (n < N) {
      vectors[i] = *reinterpret_cast<const float4*>(row + n);
    } else {
      vectors[i] = make_float4(fill, fill, fill, fill);
    }
  }
