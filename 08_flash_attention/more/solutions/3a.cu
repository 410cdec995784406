      // By the elements of a float4.
      const float weight = expf(scores[key] - base);
      const float4* v = reinterpret_cast<const float4*>(v_smem[key]);
      for (int n = 0; n < kD / kVec; ++n) {
        const float4 v4 = v[n];
        o[kVec * n] += weight * v4.x;
        o[kVec * n + 1] += weight * v4.y;
        o[kVec * n + 2] += weight * v4.z;
        o[kVec * n + 3] += weight * v4.w;
      }
      sum += weight;
