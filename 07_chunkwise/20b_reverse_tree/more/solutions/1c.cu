        // The gradients first, with the old ones in the sums.
        gradients.log_decay[left][e] += q[e] * of_left[e] * dq;
        gradients.log_decay[right][e] += k[e] * of_right[e] * dk;
        dq = fmaf(of_left[e], dq, from_k[e]);
        dk = fmaf(of_right[e], dk, from_q[e]);
