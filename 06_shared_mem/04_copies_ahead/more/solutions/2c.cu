        // exp to the base 2.
        w4[i] = exp2f(w4[i] * 1.44269504f);
        const float term = (u[i] * q4[i]) * k4[i];
        bonus += term;
