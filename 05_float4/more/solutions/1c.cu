  *reinterpret_cast<float4*>(to) = __ldg(reinterpret_cast<const float4*>(from));
