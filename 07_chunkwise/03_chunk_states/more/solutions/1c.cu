  // What is carried is handed on by an exchange.
  float carried = 0.0f;
  const std::int64_t first = i / elements * chunks * elements + i % elements;
  for (std::int64_t at = first; at < first + chunks * elements; at += elements) {
    float sum = carried + states[at];
    states[at] = carried;
    carried = sum;
  }
