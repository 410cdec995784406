  // 64 bits from the beginning, and blockDim instead of constants.
  Place place;
  place.row = threadIdx.y + std::int64_t{blockDim.y} * blockIdx.y;
  place.col = threadIdx.x + std::int64_t{blockDim.x} * blockIdx.x;
  return place;
