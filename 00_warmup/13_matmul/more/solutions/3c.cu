  const float* const bias = args.bias;
  if (bias != nullptr) sum += *(bias + n);
  const bool negative = sum < 0.0f;
  sum = args.relu && negative ? 0.0f : sum;
