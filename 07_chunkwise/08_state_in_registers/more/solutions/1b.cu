    // As an A, whose transpose is two B.
    const FragmentA a = tiles::as_a<bfloat16>(sum[0], sum[1]);
    b[n] = {{a.x[n], a.x[n + 2]}};
