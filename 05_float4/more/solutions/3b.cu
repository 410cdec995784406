  const char* const names[] = {"q", "k", "log_w", "u"};
  const float* const rows[] = {args.q, args.k, args.log_w, args.u};
  for (int i = 0; i < 4; ++i)
    ladder::require_pointer(names[i], rows[i], kVec * sizeof(float));
