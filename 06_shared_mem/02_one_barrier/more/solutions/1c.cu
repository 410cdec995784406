    // The buffer by its parity, by a function.
    const auto put = [&](float (&rows)[2][kChannels], float x) { rows[t & 1][tid] = x; };
    put(k_smem, k_next), put(q_smem, q_next), put(w_smem, expf(log_w_next));
