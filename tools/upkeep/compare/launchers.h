/* The chapters' CUDA launchers for programs in other languages: plain C, device pointers in, a sentence out when something is
 * refused or fails. Sizes, shapes and units are those of the operators' arguments (common/operators, 00_warmup).
 *
 * Launchers put their work into the calling thread's default stream (cudaStreamPerThread), and do not wait for it.
 * ours.py calls them. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number for a field, or a device pointer for an array, by its name in the operator's lists. */
typedef struct {
  const char* name;
  double number;
  void* array;
} LadderValue;

/* Names of all CUDA implementations in the library, each followed by a newline. */
const char* ladder_implementations(void);

/* Sets *call to an operator's call of one implementation, which is good until the program ends. `precision` is what the tensors
 * are stored as: fp32, bf16, bf16_fp32_decay (recurrences only) or fp16 (attention only). A value that is not given is as usual, an
 * array null. Both functions return null, or what is wrong; the text is good until the thread's next call. */
const char* ladder_prepare(const char* implementation, const char* op, const char* precision,
                           const LadderValue* values, int32_t count, const void** call);
const char* ladder_call(const void* call);

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
