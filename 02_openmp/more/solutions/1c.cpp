// Shared variables are named.
#pragma omp parallel for collapse(2) default(none) shared(args, B, T, H, K, V)
