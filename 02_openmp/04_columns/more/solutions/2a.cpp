  // One by one.
  while (parts * heads < threads && parts * kLine < V) ++parts;
