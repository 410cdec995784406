  // Each limit is checked for that many blocks.
  int warps = threads / has.lanes;
  if (threads % has.lanes != 0) ++warps;
  if (blocks * warps > has.warps) blocks = has.warps / warps;
  if (registers_per_thread > 0) {
    const int of_a_warp = rounded_up(registers_per_thread * has.lanes, has.registers_at_a_time);
    const int warps_with_registers = has.registers_of_a_part / of_a_warp * has.parts;
    if (blocks * warps > warps_with_registers) blocks = warps_with_registers / warps;
  }
  const int bytes =
      rounded_up(has.shared_bytes_reserved + shared_bytes, has.shared_bytes_at_a_time);
  if (blocks * bytes > has.shared_bytes) blocks = has.shared_bytes / bytes;
