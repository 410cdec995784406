    // By names.
    float* const tile_sums = dq_sums + (first_slot + i) * (kQueries * kD);
    hopper::fence_shared();
    __syncthreads();
    multiply_ds<bfloat16, kD>(dq, ds_columns, k_columns);
    hopper::wait_products<0>();
    __syncthreads();  // the sums are in registers already
    hopper::pin(dq);
    add_to_memory<kD>(tile_sums, dq);
