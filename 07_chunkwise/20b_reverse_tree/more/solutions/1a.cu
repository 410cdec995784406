        // The decays' gradients need what comes from outside the join.
        const float from_before = of_left[e] * dq, from_behind = of_right[e] * dk;
        gradients.log_decay[left][e] += q[e] * from_before;
        gradients.log_decay[right][e] += k[e] * from_behind;
        dq = from_before + from_k[e];
        dk = from_behind + from_q[e];
