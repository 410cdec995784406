  // The last group on its own.
  const std::int64_t groups = down / group, whole = group * across;
  if (block < groups * whole)
    return {block / whole * group + block % group, block % whole / group};
  const std::int64_t rest = block - groups * whole, rows = down % group;
  return {groups * group + rest % rows, rest / rows};
