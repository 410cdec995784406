    // Instruction by instruction.
    for (int half = 0; half < 2 && kProducts != Products::kOne; ++half) {
      tiles::multiply(sum, a.small[half], right.big[half]);
      tiles::multiply(sum, a.big[half], right.small[half]);
    }
    for (int half = 0; half < 2; ++half)
      tiles::multiply(sum, a.big[half], right.big[half]);
