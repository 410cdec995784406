        // The bonus within the sums: what is multiplied by v is D and u q d_o together.
        row_v += (row[iv] + scale * u * q * step.d_o[iv]) * step.v[iv];
// ----
        column_k += (column[ik] + scale * u_smem[ik] * step.q[ik] * d_o) * step.k[ik];
// ----
      args.dk[element_of(t)] = row_v;
      args.dv[element_of(t)] = column_k;
