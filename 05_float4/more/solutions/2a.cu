    *o = args.scale * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
