    // Another swizzle, by addition: eight neighbours of a row and of a column have eight indices modulo 8 as well.
    const float4 a = *reinterpret_cast<const float4*>(from);
    const float4 b = *reinterpret_cast<const float4*>(from + args.N);
    const float4 c = *reinterpret_cast<const float4*>(from + 2 * args.N);
    const float4 d = *reinterpret_cast<const float4*>(from + 3 * args.N);
    const int place = (row + column) % kVectors;
    tile_smem[kVec * column][place] = make_float4(a.x, b.x, c.x, d.x);
    tile_smem[kVec * column + 1][place] = make_float4(a.y, b.y, c.y, d.y);
    tile_smem[kVec * column + 2][place] = make_float4(a.z, b.z, c.z, d.z);
    tile_smem[kVec * column + 3][place] = make_float4(a.w, b.w, c.w, d.w);
// ----
      const int place = (column + (row + i) / kVec) % kVectors;
      *reinterpret_cast<float4*>(args.y + n * args.M + m) = tile_smem[row + i][place];
