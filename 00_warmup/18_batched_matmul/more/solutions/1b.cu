  const float biased = args.bias == nullptr ? sum : sum + args.bias[n];
  if (!args.gelu) return biased;
  sum = 0.5f * (biased + biased * erff(kRootHalf * biased));
