    // The elements are transposed in a loop, as an array of floats; a row of the tile is a pointer.
    float x[kVec][kVec];
    for (int i = 0; i < kVec; ++i)
      *reinterpret_cast<float4*>(x[i]) = *reinterpret_cast<const float4*>(from + i * args.N);
    for (int j = 0; j < kVec; ++j) {
      float4* to = tile_smem[column * kVec + j];
      to[column ^ row] = make_float4(x[0][j], x[1][j], x[2][j], x[3][j]);
    }
// ----
      const int in_tile = static_cast<int>(n - tile_n);
      reinterpret_cast<float4*>(args.y + n * args.M)[m / kVec] =
          tile_smem[in_tile][in_tile / kVec ^ column];
