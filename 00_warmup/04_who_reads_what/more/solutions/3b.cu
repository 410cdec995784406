    // Index 0 of two pointers to the thread's own vector.
    const float4* from = reinterpret_cast<const float4*>(&args.x[first]);
    float4* to = reinterpret_cast<float4*>(&args.y[first]);
    to[0] = from[0];
