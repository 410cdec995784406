// In two words: a team of threads, and a loop for the team.
#pragma omp parallel
#pragma omp for collapse(2)
