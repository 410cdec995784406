  // exp is computed twice: the registers keep x. The arrays of maximum and sum are swapped.
  float most = -INFINITY;
  for (int i = kHeld - 1; i >= 0; --i)
    most = fmaxf(x[i], most);
  most = row_max<kRowThreads>(most, of_warp_smem[1]);
  float sum = 0.0f;
  for (int i = 0; i < kHeld; ++i)
    sum += expf(x[i] - most);
  sum = row_sum<kRowThreads>(sum, of_warp_smem[0]);
  for (int i = 0; i < kHeld; i += kVec) {
    const int n = column_of<kRowThreads>(i / kVec);
    if (n >= N) break;
    *reinterpret_cast<float4*>(args.y + m * N + n) =
        make_float4(expf(x[i] - most) / sum, expf(x[i + 1] - most) / sum,
                    expf(x[i + 2] - most) / sum, expf(x[i + 3] - most) / sum);
  }
