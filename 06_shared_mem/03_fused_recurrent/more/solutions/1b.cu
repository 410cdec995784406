    // Five shuffles without a loop.
    bonus += __shfl_xor_sync(0xffffffffu, bonus, 16);
    bonus += __shfl_xor_sync(0xffffffffu, bonus, 8);
    bonus += __shfl_xor_sync(0xffffffffu, bonus, 4);
    bonus += __shfl_xor_sync(0xffffffffu, bonus, 2);
    bonus += __shfl_xor_sync(0xffffffffu, bonus, 1);
