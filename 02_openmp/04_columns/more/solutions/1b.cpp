  // The larger parts come first.
  const std::int64_t lines = (V + kLine - 1) / kLine, each = lines / parts, more = lines % parts;
  Columns columns;
  columns.first = std::min(V, (part * each + std::min(part, more)) * kLine);
  columns.end = std::min(V, ((part + 1) * each + std::min(part + 1, more)) * kLine);
  return columns;
