      // First what is left, then what the step has read.
#pragma unroll
      for (int iv = 0; iv < kChannels; ++iv) {
        row[iv] *= w;
        row[iv] += scale * step.d_o[iv] * q;
      }
#pragma unroll
      for (int ik = 0; ik < kChannels; ++ik) {
        column[ik] *= step.w[ik];
        column[ik] += scale * d_o * step.q[ik];
      }
