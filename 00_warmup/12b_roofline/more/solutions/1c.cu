  // Shared memory first, in allocation units; then threads, as many as full warps have.
  const int piece = has.shared_bytes_at_a_time;
  const int pieces = (shared_bytes + has.shared_bytes_reserved + piece - 1) / piece;
  blocks = std::min(blocks, has.shared_bytes / piece / pieces);
  const int lanes = rounded_up(threads, has.lanes);
  blocks = std::min(blocks, has.warps * has.lanes / lanes);
  if (registers_per_thread != 0) {
    const int of_a_warp = rounded_up(has.lanes * registers_per_thread, has.registers_at_a_time);
    const int warps = has.parts * (has.registers_of_a_part / of_a_warp);
    blocks = std::min(blocks, warps * has.lanes / lanes);
  }
