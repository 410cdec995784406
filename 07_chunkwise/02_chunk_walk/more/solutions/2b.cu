      // By the tokens' places in time.
      const std::int64_t query_time = t + l, key_time = t + s;
      if (key_time > query_time) score = 0.0f;
