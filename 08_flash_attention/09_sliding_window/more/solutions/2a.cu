        // The distance from the query's own key; that of a key behind it is below 0, which is a large number without a sign.
        const int distance = visible.keys(row) - 1 - key;
        if (static_cast<unsigned>(distance) >= static_cast<unsigned>(visible.window)) {
          score = -INFINITY;
        }
