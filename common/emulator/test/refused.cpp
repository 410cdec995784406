// Rewritten launches. The compiler must reject all but the last (CMakeLists.txt).
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
#elif defined(ARGUMENTS_EXCHANGED)
void launch(float* out, int n) {
  EMULATOR_LAUNCH(kernel)(1, 32)(n, out);
}
#elif defined(A_POINTER_FOR_A_NUMBER)
void launch(float* out) {
  EMULATOR_LAUNCH(of_a_template<3>)(1, 32)(out, out);
}
#elif defined(DOUBLES_FOR_FLOATS)
void launch(double* out) {
  EMULATOR_LAUNCH(kernel)(1, 32)(out, 1);
}
#elif defined(CONST_LOST)
void launch(const float* out) {
  EMULATOR_LAUNCH(kernel)(1, 32)(out, 1);
}
#else  // these must compile
void launch(float* out, const short& n) {
  EMULATOR_LAUNCH(kernel)(1, 32)(0, 1);
  EMULATOR_LAUNCH(kernel)(1, 32)(nullptr, n);
  EMULATOR_LAUNCH(of_a_template<3>)(1, 32)(NULL, {});
  EMULATOR_LAUNCH(kernel)(1, 32)(out, 1.5);
  float numbers[3];
  EMULATOR_LAUNCH(kernel)(1, 32)(numbers, *out > 0);
}
#endif
