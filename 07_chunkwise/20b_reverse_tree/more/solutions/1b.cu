        // One side after the other.
        dq = dq * of_left[e];
        gradients.log_decay[left][e] = fmaf(q[e], dq, gradients.log_decay[left][e]);
        dq = dq + from_k[e];
        dk = dk * of_right[e];
        gradients.log_decay[right][e] = fmaf(k[e], dk, gradients.log_decay[right][e]);
        dk = dk + from_q[e];
