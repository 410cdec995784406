    // By columns of the tiles.
    const int column = i * 16, panel = column / kPanel;
    const int bytes = column % kPanel * static_cast<int>(sizeof(bfloat16));
    const std::uint64_t a = hopper::advance(hopper::describe(&q.at[panel][first_row][0]), bytes);
    const std::uint64_t b = hopper::advance(hopper::describe(&k.at[panel][0][0]), bytes);
    hopper::multiply_add<bfloat16, kKeys, Order::kSums, Order::kSums>(s, a, b, i != 0);
// ----
    hopper::fence_operands();
    multiply_q_k(scores, smem.q, first_row, smem.k);
    hopper::wait_products<0>();
    hopper::pin(scores);
