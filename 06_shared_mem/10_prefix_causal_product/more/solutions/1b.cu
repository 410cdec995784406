      // A pointer from warp to warp; the new carry is computed before the old one is stored.
      float* place = sum_smem + element;
      float before = carry[i];
      for (int left = kWarps; left > 0; --left, place += kState) {
        const float behind = before + *place;
        *place = before;
        before = behind;
      }
      carry[i] = before;
