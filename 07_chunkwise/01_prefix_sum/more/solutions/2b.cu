  // Chunk and place in it.
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t chunk = i / args.chunk, place = i - chunk * args.chunk;
  if (i < args.length) {
    std::int32_t* const of_chunk = args.sums + chunk * args.chunk;
    of_chunk[place] += args.carry[chunk];
  }
