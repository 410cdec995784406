      // Clamped where it is looked up: right, though a warp then waits for the table at once.
      if (t < end)
        pages[group] = static_cast<int>(
            clamped(args.block_table[b * args.max_pages + t / args.page_keys], 0, args.pages - 1));
// ----
        const std::int64_t key = t + group * kGroup, first_of_page = key >> shift << shift;
        first_rows[group] = (std::int64_t{pages[group]} << shift) + key - first_of_page;
