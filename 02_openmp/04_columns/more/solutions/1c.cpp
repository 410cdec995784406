  // Line by line.
  Columns columns{V, V};
  const std::int64_t lines = (V + kLine - 1) / kLine;
  for (std::int64_t line = lines - 1; line >= 0; --line) {
    if (line >= part * lines / parts && line < (part + 1) * lines / parts) {
      if (columns.first == V) columns.end = std::min(V, (line + 1) * kLine);
      columns.first = line * kLine;
    }
  }
  if (part * lines / parts == (part + 1) * lines / parts)
    columns.first = columns.end = std::min(V, part * lines / parts * kLine);
  return columns;
