  const auto* const wide = reinterpret_cast<const float4*>(from);
  reinterpret_cast<float4*>(to)[0] = wide[0];
