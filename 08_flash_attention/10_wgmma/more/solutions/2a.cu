  // The descriptor goes from block to block.
  constexpr int kPanelBytes = kKeys * kPanel * sizeof(bfloat16);
  std::uint64_t b = hopper::describe(v.at[0], kPanelBytes);
#pragma unroll
  for (const auto& weights : p) {
    hopper::multiply_add<bfloat16, kD, Order::kOutputs>(o, weights, b);
    b = hopper::advance(b, hopper::kNextOutputs);
  }
  hopper::commit_products();
// ----
    hopper::fence_operands();
    multiply_p_v<kD>(o, p, smem.v);
    hopper::wait_products<0>();
    hopper::pin(o);
