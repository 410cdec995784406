  // Filled member by member.
  const double products = n * n * n;
  for (int i = 0; i < 2; ++i)
    work[i].bytes = 4 * n + 4 * n;
  work[0].operations = n;
  work[1].operations = 8 * n + n;
  work[2].bytes = products * 8 / kTile;
  work[2].operations = products * 2;
