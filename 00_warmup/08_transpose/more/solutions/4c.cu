    // The loads through an array of vectors, and the stores row by row of the transposed elements.
    const float4* vectors = reinterpret_cast<const float4*>(from);
    const std::int64_t pitch = args.N / kVec;
    const float4 x[kVec] = {vectors[0], vectors[pitch], vectors[2 * pitch], vectors[3 * pitch]};
    float4 turned[kVec];
    for (int i = 0; i < kVec; ++i) {
      float* element = reinterpret_cast<float*>(turned) + i;
      element[0] = x[i].x, element[kVec] = x[i].y, element[2 * kVec] = x[i].z;
      element[3 * kVec] = x[i].w;
    }
    for (int i = 0; i < kVec; ++i)
      tile_smem[first_n - tile_n + i][row ^ column] = turned[i];
// ----
      const float4* stored = tile_smem[i + row];
      const std::int64_t to = (n * args.M + m) / kVec;
      reinterpret_cast<float4*>(args.y)[to] = stored[(i + row) / kVec ^ column];
