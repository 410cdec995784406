    // A group for each of the three: the wait takes all.
    copy(place_of(t).q, args.q);
    __pipeline_commit();
    copy(place_of(t).k, args.k);
    __pipeline_commit();
    copy(place_of(t).v, args.v);
    __pipeline_commit();
