  // One after the other.
  result.intensity = work.operations / work.bytes;
  result.seconds = work.bytes / machine.bytes_per_second;
  result.memory_bound = true;
  if (const double computing = work.operations / machine.operations_per_second;
      computing >= result.seconds) {
    result.seconds = computing;
    result.memory_bound = false;
  }
