// Dealt out one by one, each thread's heads fixed beforehand.
#pragma omp parallel for collapse(2) schedule(static, 1)
