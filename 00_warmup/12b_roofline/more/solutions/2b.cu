  // By the highest rate of operations at this intensity.
  result.intensity = work.operations / work.bytes;
  const double slope = result.intensity * machine.bytes_per_second;
  const double rate = std::min(slope, machine.operations_per_second);
  result.seconds = work.operations / rate;
  result.memory_bound = slope < machine.operations_per_second;
