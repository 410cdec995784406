        // The addresses once.
        d_v = d_v + step.v[iv] * row[iv];
// ----
        d_k = d_k + step.k[ik] * column[ik];
// ----
      const std::int64_t at = element_of(t);
      args.dv[at] = scale * (d_o * bonus) + d_k;
      args.dk[at] = scale * (u * (q * v_do)) + d_v;
