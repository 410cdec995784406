  // The next chunk's own sum is read before this chunk's place is written.
  float* place = states + i / elements * (chunks * elements) + i % elements;
  float own = chunks > 0 ? *place : 0.0f, before = 0.0f;
  for (std::int64_t left = chunks; left > 0; --left) {
    const float next = left > 1 ? place[elements] : 0.0f;
    *place = before;
    before += own;
    own = next;
    place += elements;
  }
