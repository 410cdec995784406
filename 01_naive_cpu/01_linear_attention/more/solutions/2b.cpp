        // First all scores, with a pointer that moves from key to key, then their sum.
        const float* key = phi_k.data();
        for (std::int64_t s = 0; s < visible; ++s, key += K)
          scores[s] = dot(key, phi_q.data(), K);
        float sum = 0.0f;
        for (std::int64_t s = 0; s < visible; ++s)
          sum += scores[s];
        denominator += sum;
