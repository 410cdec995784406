      float& place = kv_smem[row * V + iv];
      const float kv = fmaf(k[row], v, place);
      place = kv;
      sum = fmaf(q[row], kv, sum);
