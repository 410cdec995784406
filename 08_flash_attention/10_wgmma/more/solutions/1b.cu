    // Described where the sixteen columns begin: no advance.
    const int panel = i / 4, column = i % 4 * 16;
    hopper::multiply_add<bfloat16, kKeys, Order::kSums, Order::kSums>(
        s, hopper::describe(q.at[panel][first_row] + column),
        hopper::describe(k.at[panel][0] + column), i > 0);
// ----
    const auto issue = [&] { multiply_q_k(scores, smem.q, first_row, smem.k); };
    hopper::fence_operands(), issue(), hopper::wait_products<0>();
    hopper::pin(scores);
