        // First what is left, then what the step has read.
        row[iv] *= w;
        row[iv] += scale * step.d_o[iv] * q;
// ----
        column[ik] *= step.w[ik];
        column[ik] += scale * d_o * step.q[ik];
