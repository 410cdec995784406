      // As two float4 each.
      for (int half = 0; half < 2; ++half) {
        const float* const from_a = a_smem[k] + row_of(half * 4);
        const float* const from_b = b_smem[k] + column_of(half * 4);
        reinterpret_cast<float4*>(a)[half] = *reinterpret_cast<const float4*>(from_a);
        reinterpret_cast<float4*>(b)[half] = *reinterpret_cast<const float4*>(from_b);
      }
