    // The scores are zeros before: every product adds.
    const int panel = i / (kPanel / 16), within = i % (kPanel / 16) * hopper::kNextSums;
    const auto a = hopper::describe(q.at[panel][first_row]), b = hopper::describe(k.at[panel]);
    hopper::multiply_add<bfloat16, kKeys, Order::kSums, Order::kSums>(
        s, hopper::advance(a, within), hopper::advance(b, within));
// ----
    for (float& score : scores)
      score = 0.0f;
    hopper::pin(scores);
    hopper::fence_operands();
    multiply_q_k(scores, smem.q, first_row, smem.k);
    hopper::wait_products<0>();
    hopper::pin(scores);
