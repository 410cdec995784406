  // By the address's last four bits.
  const auto refuse = [](const std::string& name, const float* rows) {
    ladder::require((reinterpret_cast<std::uintptr_t>(rows) & 15) == 0,
                    name + " is not aligned; allowed: a multiple of 16 bytes");
  };
  refuse("q", args.q);
  refuse("k", args.k);
  refuse("log_w", args.log_w);
  refuse("u", args.u);
