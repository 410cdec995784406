  // From the last vector to the first.
  const std::int64_t head = h - task.first_head;
  for (std::int64_t ik = round_up(args.K, kVec) - kVec; ik >= 0; ik -= kVec) {
    Vec sum = load(tile.z(head) + ik);
    sum += load(k + ik);
    store(tile.z(head) + ik, sum);
  }
