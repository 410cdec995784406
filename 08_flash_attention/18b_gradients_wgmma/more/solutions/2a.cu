    // By names.
    float* const tile_sums = dq_sums + (first_slot + i) * (kQueries * kD);
    hopper::fence_proxy_async();
    __syncthreads();
    multiply_ds<bfloat16, kD>(dq, ds_columns, k_columns);
    hopper::wgmma_wait_group<0>();
    __syncthreads();  // the sums are in registers already
    hopper::pin(dq);
    add_to_memory<kD>(tile_sums, dq);
