        // Seen, or not.
        const int end = visible.keys(row), begin = end - visible.window;
        const bool seen = begin <= key && key < end;
        score = seen ? score : -INFINITY;
