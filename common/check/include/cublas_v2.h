// The types and handles of cuBLAS, because programs create handles that they never use. A product
// ends the program with a sentence.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "cuda_runtime.h"

enum cublasStatus_t : int { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasOperation_t : int { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t : int { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
enum cublasGemmAlgo_t : int { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cudaDataType_t : int { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
using cudaDataType = cudaDataType_t;
struct cublasContext;
using cublasHandle_t = cublasContext*;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) {
  return CUBLAS_STATUS_SUCCESS;
}

namespace emulator_check {

[[noreturn]] inline void refuse(const char* call) {
  std::fprintf(stderr, "%s: cuBLAS is not emulated; the program ran until here\n", call);
  std::exit(4);
}

}  // namespace emulator_check

#define EMULATOR_CHECK_REFUSED(name)         \
  template <typename... Arguments>           \
  cublasStatus_t name(const Arguments&...) { \
    emulator_check::refuse(#name);           \
  }
EMULATOR_CHECK_REFUSED(cublasSgemm)
EMULATOR_CHECK_REFUSED(cublasDgemm)
EMULATOR_CHECK_REFUSED(cublasHgemm)
EMULATOR_CHECK_REFUSED(cublasGemmEx)
EMULATOR_CHECK_REFUSED(cublasSgemmStridedBatched)
EMULATOR_CHECK_REFUSED(cublasGemmStridedBatchedEx)
EMULATOR_CHECK_REFUSED(cublasSgemv)
EMULATOR_CHECK_REFUSED(cublasSaxpy)
EMULATOR_CHECK_REFUSED(cublasSdot)
#undef EMULATOR_CHECK_REFUSED
