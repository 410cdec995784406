      // The four rows through registers, the keys from the last one back.
      float* rows = state + ik;
      read(w4, w_chunk_smem + ik);
      float a = rows[0] * w4[0], b = rows[1] * w4[1], c = rows[2] * w4[2], d = rows[3] * w4[3];
      for (int key = kChunk - 1; key >= 0; --key) {
        read(k4, k_state_smem[key] + ik);
        a += k4[0] * v[key], b += k4[1] * v[key], c += k4[2] * v[key], d += k4[3] * v[key];
      }
      rows[0] = a, rows[1] = b, rows[2] = c, rows[3] = d;
