/* The chapters' CUDA launchers for programs in other languages: plain C, device pointers in, a sentence out when something is
 * refused or fails. Sizes, shapes and units are those of common/operators (wkv.hpp, linear_attention.hpp, attention.hpp); arrays
 * that an operator does not have, and optional ones, are null.
 *
 * Launchers put their work into the calling thread's default stream (cudaStreamPerThread), and do not wait for it.
 * ours.py's Structures mirror the structs field by field. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t B, T, H, K, V;
  const void *q, *k, *v, *log_w, *u; /* log_w: (B, T, H, K) */
  const float* initial_state;
  void* o;
  float* final_state;
  /* of gradients only */
  const void* d_o;
  const float* d_final_state;
  void *dq, *dk, *dv, *d_log_w;
  float *du, *d_initial_state;
  float scale;
} LadderWkv;

typedef struct {
  int64_t B, T_q, T_k, H, K, V;
  const void *q, *k, *v;
  void* o;
  int32_t causal, elu_plus_one, normalize; /* 0 or 1 */
  float eps;
} LadderLinearAttention;

typedef struct {
  int64_t B, T_q, T_k, H_q, H_kv, D;
  const void *q, *k, *v;
  void* o;
  float* lse;
  /* of gradients only */
  const void* d_o;
  void *dq, *dk, *dv;
  int32_t causal;
  float scale;
} LadderAttention;

/* Names of all CUDA implementations in the library, each followed by a newline. */
const char* ladder_implementations(void);

/* One implementation, for the calls below; null for a name that ladder_implementations does not list. */
const void* ladder_find(const char* name);

/* `op` is an operator's name ("wkv", "gla", "wkv_backward", "gla_backward"; "linear_attention"; "attention",
 * "attention_backward"), `precision` one of fp32, bf16, bf16_fp32_decay (recurrences only) and fp16 (attention only).
 * They return null, or what is wrong; the text is good until the thread's next call. */
const char* ladder_wkv(const void* implementation, const char* op, const char* precision,
                       const LadderWkv* args);
const char* ladder_linear_attention(const void* implementation, const char* precision,
                                    const LadderLinearAttention* args);
const char* ladder_attention(const void* implementation, const char* op, const char* precision,
                             const LadderAttention* args);

/* An operator of chapter 00 ("vector_add", "transpose", "sum", "softmax", "rms_norm", "matmul"), in fp32: its sizes and its arrays in
 * the order of its lists, `sizes` and `arrays` as many as those have. Options are as usual. */
const char* ladder_warmup(const void* implementation, const char* op, const int64_t* sizes,
                          void* const* arrays);

/* Ceilings, of `bytes`, a multiple of 16: a copy, and reading alone, which writes nothing. */
const char* ladder_copy(const void* from, void* to, int64_t bytes);
const char* ladder_read(const void* data, int64_t bytes);

/* What is launched into this thread's default stream between begin and end becomes a graph; `end` sets *graph. A graph may be
 * launched into any stream. All return null, or what is wrong. */
const char* ladder_record_begin(void);
const char* ladder_record_end(void** graph);
const char* ladder_graph_launch(void* graph, void* stream);
const char* ladder_graph_destroy(void* graph);

#ifdef __cplusplus
}
#endif
