  // The larger parts come last: rounded up by hand.
  const auto border = [&](std::int64_t n) {
    const std::int64_t lines = V / kLine + (V % kLine != 0);
    return std::min(V, n * lines / parts * kLine);
  };
  return {border(part), border(part + 1)};
