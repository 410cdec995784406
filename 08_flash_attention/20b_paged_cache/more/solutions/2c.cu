      // Left early behind the last key; the two halves of a row's number do not overlap.
      if (t >= end) break;
      const std::int64_t n = t >> shift;
      pages[group] = args.block_table[n + args.max_pages * b];
// ----
        std::int64_t page = pages[group];
        if (page >= args.pages) page = args.pages - 1;
        if (page < 0) page = 0;
        first_rows[group] = page << shift | ((t + kGroup * group) & ((std::int64_t{1} << shift) - 1));
