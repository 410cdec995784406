  // Divided by the sum, vector by vector, just before it is stored.
  float most = x[0];
  for (int i = 1; i < kHeld; ++i)
    most = x[i] > most ? x[i] : most;
  const float largest = row_max<kRowThreads>(most, of_warp_smem[0]);
  float sum = 0.0f;
  for (float& each : x)
    sum += each = expf(each - largest);
  sum = row_sum<kRowThreads>(sum, of_warp_smem[1]);
  float* y = args.y + m * N;
  for (int i = 0; i < kHeld / kVec && column_of<kRowThreads>(i) < N; ++i) {
    for (int j = 0; j < kVec; ++j)
      x[i * kVec + j] /= sum;
    copy_vector(y + column_of<kRowThreads>(i), x + i * kVec);
  }
