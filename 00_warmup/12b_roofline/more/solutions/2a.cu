  // By the ridge: the intensity at which both times are the same.
  const double ridge = machine.operations_per_second / machine.bytes_per_second;
  result.intensity = work.operations / work.bytes;
  result.memory_bound = result.intensity < ridge;
  result.seconds = result.memory_bound ? work.bytes / machine.bytes_per_second
                                       : work.operations / machine.operations_per_second;
