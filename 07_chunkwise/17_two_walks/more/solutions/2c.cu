        // The addresses once.
        row_v = row_v + step.v[iv] * row[iv];
// ----
        column_k = column_k + step.k[ik] * column[ik];
// ----
      const std::int64_t at = element_of(t);
      args.dv[at] = scale * (d_o * bonus) + column_k;
      args.dk[at] = scale * (u * (q * v_do)) + row_v;
