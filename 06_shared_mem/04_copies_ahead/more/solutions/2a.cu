        // u k first; exp into a name of its own.
        const float uk = u[i] * k4[i], decay = expf(w4[i]);
        bonus = bonus + uk * q4[i];
        w4[i] = decay;
