        // What o reads of the element, and then the decay of D.
        const float read_in_row = q * step.d_o[iv];
        row[iv] = scale * read_in_row + w * row[iv];
// ----
        const float read_in_column = step.q[ik] * d_o;
        column[ik] = scale * read_in_column + step.w[ik] * column[ik];
