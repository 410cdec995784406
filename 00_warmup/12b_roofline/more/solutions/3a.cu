  // From the intensities: 1 / 8, 9 / 8 and 8 operations for each byte.
  work[0].operations = n;
  work[1].operations = 9 * n;
  work[2].operations = 2 * n * n * n;
  work[0].bytes = work[1].bytes = work[0].operations * 8;
  work[2].bytes = work[2].operations / 8;
