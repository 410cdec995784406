        // The bonus within the sums: what is multiplied by v is D and u q d_o together.
        d_v += (row[iv] + scale * u * q * step.d_o[iv]) * step.v[iv];
// ----
        d_k += (column[ik] + scale * u_smem[ik] * step.q[ik] * d_o) * step.k[ik];
// ----
      args.dk[element_of(t)] = d_v;
      args.dv[element_of(t)] = d_k;
