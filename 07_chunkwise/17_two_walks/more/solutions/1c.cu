        // What q reads in this column: the state and the bonus together. The state is not changed yet.
        v_do += step.d_o[iv] * step.v[iv];
        const float read = state[iv] + u * k * step.v[iv];
        s_do += read * step.d_o[iv];
// ----
      du = du + scale * (q * (k * v_do));
      args.dq[element_of(t)] = scale * s_do;
