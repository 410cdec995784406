  // Four partial maxima and sums, one for each element of a vector.
  float most[kVec] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, sums[kVec] = {};
  for (int i = 0; i < kHeld; ++i)
    most[i % kVec] = fmaxf(most[i % kVec], x[i]);
  const float all = row_max<kRowThreads>(fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3])),
                                         of_warp_smem[0]);
  for (int i = 0; i < kHeld; ++i) {
    x[i] = expf(x[i] - all);
    sums[i % kVec] += x[i];
  }
  const float sum =
      row_sum<kRowThreads>((sums[0] + sums[1]) + (sums[2] + sums[3]), of_warp_smem[1]);
  const float factor = 1.0f / sum;
  for (int i = 0; i < kHeld / kVec; ++i) {
    float4 share = *reinterpret_cast<const float4*>(x + i * kVec);
    share.x *= factor, share.y *= factor, share.z *= factor, share.w *= factor;
    const int n = column_of<kRowThreads>(i);
    if (n < N) copy_vector(args.y + m * N + n, &share.x);
  }
