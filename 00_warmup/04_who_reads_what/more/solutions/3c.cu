    // The vector is made of its elements, and stored by its index.
    const float4 x = reinterpret_cast<const float4*>(args.x)[first / kVec];
    reinterpret_cast<float4*>(args.y)[first / kVec] = make_float4(x.x, x.y, x.z, x.w);
