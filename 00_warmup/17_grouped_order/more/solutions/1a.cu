  // Triton's names.
  const std::int64_t in_group = group * across, group_id = block / in_group;
  const std::int64_t first_down = group_id * group;
  const std::int64_t group_size = min(down - first_down, group);
  TilePlace place;
  place.down = first_down + block % in_group % group_size;
  place.across = block % in_group / group_size;
  return place;
