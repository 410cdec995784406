    // The other buffer by its address.
    Tile& other = &tile == &tiles[0] ? tiles[1] : tiles[0];
    __pipeline_wait_prior(0);
    prepare(tile);
    __syncthreads();
    if (args.T - first_t > kTile) fetch(other, first_t + kTile);
