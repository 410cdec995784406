  // Each block of sixteen keys described anew.
#pragma unroll
  for (int key = 0; key < kKeys; key += 16) {
    const std::uint64_t b = hopper::describe(v.at[0][key], sizeof v.at[0]);
    hopper::multiply_add<bfloat16, kD, Order::kOutputs>(o, p[key / 16], b);
  }
  hopper::commit_products();
// ----
    const auto issue = [&] { multiply_p_v<kD>(o, p, smem.v); };
    hopper::fence_operands(), issue(), hopper::wait_products<0>();
    hopper::pin(o);
