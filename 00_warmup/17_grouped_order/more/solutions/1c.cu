  // The last group on its own.
  const std::int64_t groups = down / group, whole = group * across;
  if (block < groups * whole) {
    place = {block / whole * group + block % group, block % whole / group};
  } else {
    const std::int64_t rest = block - groups * whole, rows = down % group;
    place = {groups * group + rest % rows, rest / rows};
  }
