      // A pointer to the element; it is stored last.
      float* const own = kv_smem + iv + row * V;
      float kv = *own;
      kv += v * *(k + row);
      sum += kv * *(q + row);
      *own = kv;
