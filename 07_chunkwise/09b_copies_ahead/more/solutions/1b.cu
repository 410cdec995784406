    // A loop over the three.
    const Chunk place = place_of(t);
    const Tile to[] = {place.q, place.k, place.v};
    const bfloat16* const from[] = {args.q, args.k, args.v};
    for (int i = 0; i < 3; ++i)
      copy(to[i], from[i]);
    __pipeline_commit();
