    o[0] = (sums[3] + sums[2] + sums[1] + sums[0]) * args.scale;
