  // Two groups; one wait for both.
  const auto b = hopper::describe(v.at, sizeof v.at[0]);
#pragma unroll
  for (int i = 0; i < kKeys / 16; ++i) {
    hopper::multiply_add<bfloat16, kD, Order::kOutputs>(
        o, p[i], hopper::advance(b, hopper::kNextOutputs * i));
    if (i % 4 == 3) hopper::commit_products();
  }
// ----
    hopper::fence_operands();
    multiply_p_v<kD>(o, p, smem.v);
    hopper::wait_products<0>();
    hopper::pin(o);
