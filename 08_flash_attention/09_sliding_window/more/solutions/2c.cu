        // One end after the other.
        if (visible.keys(row) <= key) score = -INFINITY;
        if (key + visible.window < visible.keys(row)) score = -INFINITY;
