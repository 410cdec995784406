        // By a fused multiply-add.
        bonus = fmaf(q4[i] * k4[i], u[i], bonus);
        w4[i] = expf(w4[i]);
