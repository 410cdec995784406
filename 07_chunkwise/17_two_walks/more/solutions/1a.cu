        // The bonus with u k outside of its sum, each product by fmaf.
        s_do = fmaf(step.d_o[iv], state[iv], s_do);
        v_do = fmaf(step.d_o[iv], step.v[iv], v_do);
// ----
      const float bonus_of_q = u * k * v_do;
      args.dq[element_of(t)] = scale * s_do + scale * bonus_of_q;
      du += q * k * v_do * scale;
