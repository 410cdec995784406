// Static, one by one: each thread's heads are fixed beforehand.
#pragma omp parallel for collapse(2) schedule(static, 1)
