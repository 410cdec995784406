/* WKV from C, and compared with its two lines of mathematics. */
#include <kernel_ladder.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { T = 20, H = 2, N = 8 }; /* time, heads, channels of a head */

static float q[T * H * N], k[T * H * N], v[T * H * N], log_w[T * H * N], u[H * N], o[T * H * N];

static float drawn(void) {
  return (float)rand() / (float)RAND_MAX - 0.5f;
}

static double largest_error(void) {
  static double state[H][N][N];
  double worst = 0.0;
  for (int t = 0; t < T; ++t) {
    for (int h = 0; h < H; ++h) {
      const int row = (t * H + h) * N;
      for (int i = 0; i < N; ++i) {
        double sum = 0.0;
        for (int j = 0; j < N; ++j) {
          const double kv = (double)k[row + j] * v[row + i];
          sum += q[row + j] * (state[h][j][i] + u[h * N + j] * kv);
          state[h][j][i] = exp(log_w[row + j]) * state[h][j][i] + kv;
        }
        worst = fmax(worst, fabs(sum - o[row + i]));
      }
    }
  }
  return worst;
}

int main(void) {
  for (int i = 0; i < T * H * N; ++i) {
    q[i] = drawn(), k[i] = drawn(), v[i] = drawn();
    log_w[i] = -fabsf(drawn());
  }
  for (int i = 0; i < H * N; ++i)
    u[i] = drawn();

  kl_wkv_args args = KL_WKV_ARGS;
  args.B = 1, args.T = T, args.H = H, args.K = N, args.V = N;
  args.log_w_stride_B = T * H * N, args.log_w_stride_T = H * N;
  args.q = q, args.k = k, args.v = v, args.log_w = log_w, args.u = u, args.o = o;
  const char* kernel = NULL;
  if (kl_wkv_choice(&args, &kernel) != KL_OK || kl_wkv(&args) != KL_OK) {
    puts(kl_error());
    return EXIT_FAILURE;
  }
  const double error = largest_error();
  printf("C: %s, %s: largest error %.1e\n", kl_back_end(), kernel, error);

  args.K = 0; /* refused with a sentence */
  if (kl_wkv(&args) != KL_BAD_ARGUMENT) return EXIT_FAILURE;
  printf("refused: %s\n", kl_error());
  return error < 1e-5 ? EXIT_SUCCESS : EXIT_FAILURE;
}
