      // One sum, and the mask as a condition of the score.
      float score = 0.0f;
      for (int d = 0; d < kD; d += kVec) {
        const float4 k4 = *reinterpret_cast<const float4*>(&k_smem[key][d]);
        score += q[d] * k4.x + q[d + 1] * k4.y + q[d + 2] * k4.z + q[d + 3] * k4.w;
      }
      scores[key] = first + key < keys_seen(args, query) ? args.scale * score : -INFINITY;
      tile_largest = fmaxf(scores[key], tile_largest);
