        // By fmaf.
        row_v = fmaf(step.v[iv], row[iv], row_v);
// ----
        column_k = fmaf(step.k[ik], column[ik], column_k);
// ----
      const float scaled = scale * v_do;
      args.dk[element_of(t)] = row_v + u * q * scaled;
      args.dv[element_of(t)] = column_k + bonus * (scale * d_o);
