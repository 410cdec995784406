    // Added four floats at a time, written out.
    hopper::fence_proxy_async();
    __syncthreads();
    multiply_ds<bfloat16, kD>(dq, ds_columns, k_columns);
    hopper::wgmma_wait_group<0>();
    hopper::pin(dq);
    float* to = dq_sums + (first_slot + i) * (kQueries * kD);
    for (int j = 0; j < kD / 4; j += 4, to += 4 * kWarpgroup)
      hopper::add_floats(to, dq[j], dq[j + 1], dq[j + 2], dq[j + 3]);
    __syncthreads();
