  sum += args.bias == nullptr ? 0.0f : args.bias[n];
  if (args.relu) sum = sum < 0.0f ? 0.0f : sum;
