    // By the parts' names; v first.
    const auto [next_q, next_k, next_v] = place_of(t);
    copy(next_v, args.v);
    copy(next_q, args.q);
    copy(next_k, args.k);
    __pipeline_commit();
