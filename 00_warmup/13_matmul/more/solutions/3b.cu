  if (args.bias) sum = args.bias[n] + sum;
  if (args.relu) {
    if (0.0f > sum) sum = 0.0f;
  }
