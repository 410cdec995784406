  // The block's first element, and the thread's steps from there.
  Place place{std::int64_t{blockIdx.y} * kRows, std::int64_t{blockIdx.x} * kColumns};
  place.row += threadIdx.y;
  place.col += threadIdx.x;
  return place;
