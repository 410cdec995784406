      // A pointer to the batch's row of the table, and divisions in the place of shifts.
      const std::int32_t* const table = args.block_table + b * args.max_pages;
      if (t < end) pages[group] = table[t / args.page_keys];
// ----
        const std::int64_t page = max(0, min(pages[group], static_cast<int>(args.pages) - 1));
        const std::int64_t key = t + group * kGroup;
        first_rows[group] = page * args.page_keys + key % args.page_keys;
