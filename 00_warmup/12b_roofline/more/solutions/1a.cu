  // The minimum of all four at once.
  const int warps = (threads + has.lanes - 1) / has.lanes;
  const int registers = rounded_up(registers_per_thread * has.lanes, has.registers_at_a_time);
  const int by_registers =
      registers == 0 ? blocks : has.parts * (has.registers_of_a_part / registers) / warps;
  const int by_memory = has.shared_bytes / rounded_up(shared_bytes + has.shared_bytes_reserved,
                                                      has.shared_bytes_at_a_time);
  blocks = std::min({blocks, has.warps / warps, by_registers, by_memory});
