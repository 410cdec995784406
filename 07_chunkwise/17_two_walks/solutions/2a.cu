        // By fmaf.
        d_v = fmaf(step.v[iv], row[iv], d_v);
// ----
        d_k = fmaf(step.k[ik], column[ik], d_k);
// ----
      const float scaled = scale * v_do;
      args.dk[element_of(t)] = d_v + u * q * scaled;
      args.dv[element_of(t)] = d_k + bonus * (scale * d_o);
