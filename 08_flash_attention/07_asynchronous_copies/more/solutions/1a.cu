    // By names.
    const Element* const from = x + k_offset + key * stride_k;
    const int exist = max(visible.most - tile * C::kKeys, 0);
    copy_rows_async<C::kKeys, C::kThreads>(to, from, stride_k, exist, kD, true, threadIdx.x);
