        // By fmaf.
        row[iv] = fmaf(row[iv], w, scale * q * step.d_o[iv]);
// ----
        column[ik] = fmaf(column[ik], step.w[ik], scale * d_o * step.q[ik]);
