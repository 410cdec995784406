  // One by one.
  ladder::require_pointer("q", args.q, sizeof(float4));
  ladder::require_pointer("k", args.k, sizeof(float4));
  ladder::require_pointer("log_w", args.log_w, sizeof(float4));
  ladder::require_pointer("u", args.u, sizeof(float4));
