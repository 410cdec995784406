// Each of these is refused by the compiler with a sentence: see CMakeLists.txt. As the rewriter leaves a launch.
#include <cuda_runtime.h>

__global__ void kernel(float* out, int n);
template <int count>
__global__ void of_a_template(float* out, int n);

#if defined(NO_MASK)
__device__ float sum(float x) {
  return x + __shfl_xor_sync(x, 16);
}
#elif defined(NO_MASK_BUT_A_WIDTH)
__device__ float sum(float x) {
  return x + __shfl_down_sync(x, 16, 32);
}
#elif defined(NO_MASK_OF_A_VOTE)
__device__ bool any(int x) {
  return __any_sync(x > 0);
}
#elif defined(NO_MASK_OF_A_REDUCTION)
__device__ int sum(int x) {
  return __reduce_add_sync(x);
}
#elif defined(ONE_ARGUMENT)
void launch(float* out) {
  EMULATOR_LAUNCH(kernel)(1, 32)(out);
}
#elif defined(THREE_ARGUMENTS)
void launch(float* out) {
  EMULATOR_LAUNCH(of_a_template<3>)(1, 32)(out, 1, 2);
}
#endif
