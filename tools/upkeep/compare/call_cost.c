/* What a call of kl_wkv costs the host, from C: call_cost.py compiles and runs it. Arguments: B, T, H, K; bf16, in zeros. Prints the kernel,
 * and microseconds per call: queued one behind the other, and until the result is there. */
#include <cuda_runtime_api.h>
#include <kernel_ladder.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 20, CALLS = 100 };

static double microseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void must(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "call_cost: %s: %s\n", what, kl_error());
  exit(EXIT_FAILURE);
}

static void* zeros(size_t bytes) {
  void* pointer = NULL;
  must(cudaMalloc(&pointer, bytes) == cudaSuccess, "cudaMalloc");
  must(cudaMemset(pointer, 0, bytes) == cudaSuccess, "cudaMemset");
  return pointer;
}

int main(int argc, char** argv) {
  must(argc == 5, "allowed: B T H K");
  kl_wkv_args args = KL_WKV_ARGS;
  args.B = atoll(argv[1]), args.T = atoll(argv[2]), args.H = atoll(argv[3]),
  args.K = args.V = atoll(argv[4]);
  args.log_w_stride_T = args.H * args.K, args.log_w_stride_B = args.T * args.log_w_stride_T;
  args.storage = KL_BF16;
  const size_t bytes = (size_t)(2 * args.B * args.log_w_stride_B);
  args.q = zeros(bytes), args.k = zeros(bytes), args.v = zeros(bytes), args.log_w = zeros(bytes),
  args.o = zeros(bytes);
  args.u = zeros((size_t)(2 * args.H * args.K));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream) == cudaSuccess, "cudaStreamCreate");
  args.stream = stream;
  const char* kernel = NULL;
  must(kl_wkv_choice(&args, &kernel) == KL_OK, "kl_wkv_choice");
  must(kl_wkv_workspace(&args, &args.workspace_bytes) == KL_OK, "kl_wkv_workspace");
  if (args.workspace_bytes > 0) args.workspace = zeros(args.workspace_bytes);

  double queued[ROUNDS], waited[ROUNDS];
  for (int round = -1; round < ROUNDS; ++round) { /* the first one warms up */
    must(cudaStreamSynchronize(stream) == cudaSuccess, "cudaStreamSynchronize");
    double begin = microseconds();
    for (int i = 0; i < CALLS; ++i)
      must(kl_wkv(&args) == KL_OK, "kl_wkv");
    if (round >= 0) queued[round] = (microseconds() - begin) / CALLS;
    must(cudaStreamSynchronize(stream) == cudaSuccess, "cudaStreamSynchronize");
    begin = microseconds();
    for (int i = 0; i < CALLS; ++i) {
      must(kl_wkv(&args) == KL_OK, "kl_wkv");
      must(cudaStreamSynchronize(stream) == cudaSuccess, "cudaStreamSynchronize");
    }
    if (round >= 0) waited[round] = (microseconds() - begin) / CALLS;
  }
  qsort(queued, ROUNDS, sizeof(double), ascending);
  qsort(waited, ROUNDS, sizeof(double), ascending);
  printf("%s %.3f %.3f\n", kernel, queued[ROUNDS / 2], waited[ROUNDS / 2]);
  return EXIT_SUCCESS;
}
