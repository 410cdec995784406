  // The integral from -infinity is a half and the integral from 0.
  const float* const bias = args.bias;
  sum += bias ? bias[n] : 0.0f;
  const float from_zero = erff(sum / 1.41421356f) / 2;
  sum = args.gelu ? sum * (0.5f + from_zero) : sum;
