  // erfc(-x) is 1 + erf(x).
  if (args.bias != nullptr) sum = args.bias[n] + sum;
  if (args.gelu) return 0.5f * sum * erfcf(-sum * kRootHalf);
