    // Scaled in a register first.
    sum *= args.scale;
    *o = sum;
