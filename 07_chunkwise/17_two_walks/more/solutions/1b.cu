        // d_o by name.
        const float d_o = step.d_o[iv];
        s_do += d_o * state[iv];
        v_do += d_o * step.v[iv];
// ----
      const float scaled = scale * k * v_do;
      args.dq[element_of(t)] = u * scaled + scale * s_do;
      du += q * scaled;
