      // Scaled once; the columns first.
      const float scaled_q = scale * q, scaled_d_o = scale * d_o;
#pragma unroll
      for (int ik = 0; ik < kChannels; ++ik)
        column[ik] = fmaf(column[ik], step.w[ik], scaled_d_o * step.q[ik]);
#pragma unroll
      for (int iv = 0; iv < kChannels; ++iv)
        row[iv] = fmaf(row[iv], w, scaled_q * step.d_o[iv]);
