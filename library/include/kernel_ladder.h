/* clang-format off */
/* Kernel Ladder's kernels for your own program: WKV (RWKV-5/6), gated linear attention, linear attention, softmax attention.
 *
 * Written by library/abi/generate.py from the operators' lists; library/README.md is the manual. Arrays are contiguous and row-major; sizes
 * count elements. All pointers are the device's (of the emulated library: the host's). A call queues its work and does not wait. It returns
 * KL_OK, or an error, for which kl_error() has a sentence; then nothing was queued and nothing is written, but where KL_CUDA_ERROR
 * and KL_NOT_FINITE say so.
 * Any thread may call, at the same time as others, with arguments of its own.
 *
 *     kl_wkv_args args = KL_WKV_ARGS;
 *     args.B = 1; ...
 *     if (kl_wkv(&args) != KL_OK) puts(kl_error());
 */
#ifndef KERNEL_LADDER_H
#define KERNEL_LADDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KL_API_VERSION 1

enum { /* what a function returns */
  KL_OK = 0,
  KL_BAD_ARGUMENT = 1,   /* the sentence names it, its value and what is allowed */
  KL_NOT_SUPPORTED = 2,  /* the arguments are right, but not on this device */
  KL_OUT_OF_MEMORY = 3,  /* for the workspace */
  KL_NO_DEVICE = 4,      /* no GPU, or no driver */
  KL_CUDA_ERROR = 5,     /* of the CUDA runtime; after an error of an earlier kernel the process has lost the GPU */
  KL_NOT_FINITE = 6      /* only with KERNEL_LADDER_CHECKED=1: outputs have NaN or infinity, and no input has */
};

enum { /* storage */
  KL_FP32 = 0,
  KL_BF16 = 1,
  KL_BF16_FP32_DECAY = 2, /* log_w and its gradient in fp32 */
  KL_FP16 = 3
};

enum { KL_IDENTITY = 0, KL_ELU_PLUS_ONE = 1 }; /* feature_map */

const char* kl_error(void);    /* of this thread's last call that failed; good until its next */
const char* kl_back_end(void); /* "cuda" or "emulated" */
int32_t kl_version(void);      /* KL_API_VERSION of the library */
const char* kl_kernels(void);  /* what `choice` may be, for one operator or another: each name with a newline behind it */

typedef struct kl_wkv_args {
  size_t struct_size;  /* of this struct, as you know it */
  int32_t storage;  /* what the void* arrays hold: KL_FP32, ... */
  int32_t batch_invariant;  /* 1: a sequence's result does not depend on how many others there are */
  const char* choice;  /* the kernel's name; NULL: the rules choose */
  void* stream;  /* a cudaStream_t; NULL: the default stream. The emulator has none */
  void* workspace;  /* device memory for the call; NULL: taken from the stream's memory pool */
  size_t workspace_bytes;  /* as many as kl_..._workspace says, or more */
  int64_t B;  /* 0 or more */
  int64_t T;  /* 0 or more */
  int64_t H;  /* 1 or more */
  int64_t K;  /* 1 or more */
  int64_t V;  /* 1 or more */
  int64_t log_w_stride_B;  /* of log_w: T*H*K; 0 where there is one decay for each head */
  int64_t log_w_stride_T;  /* of log_w: H*K; 0 where there is one decay for each head */
  float scale;  /* 1 in RWKV, 1/sqrt(K) or 1/sqrt(D) elsewhere */
  int32_t reverse;  /* 1: time runs from T-1 to 0 */
  int64_t sequences;  /* of cu_seqlens, which begins with 0, never falls and ends with T (T_q, T_k) */
  const void* q;  /* (B, T, H, K) */
  const void* k;  /* (B, T, H, K) */
  const void* v;  /* (B, T, H, V) */
  const void* log_w;  /* (B, T, H, K), or (H, K) where both strides are 0; natural logarithm, at most 0. KL_BF16_FP32_DECAY: float */
  const void* u;  /* (H, K), or NULL */
  const float* initial_state;  /* (B or sequences, H, K, V), or NULL */
  const int64_t* cu_seqlens;  /* (sequences + 1), or NULL */
  void* o;  /* (B, T, H, V) */
  float* final_state;  /* (B or sequences, H, K, V), or NULL */
} kl_wkv_args;
#define KL_WKV_ARGS {sizeof(kl_wkv_args), KL_FP32, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

typedef struct kl_wkv_backward_args {
  size_t struct_size;  /* of this struct, as you know it */
  int32_t storage;  /* what the void* arrays hold: KL_FP32, ... */
  int32_t batch_invariant;  /* 1: a sequence's result does not depend on how many others there are */
  const char* choice;  /* the kernel's name; NULL: the rules choose */
  void* stream;  /* a cudaStream_t; NULL: the default stream. The emulator has none */
  void* workspace;  /* device memory for the call; NULL: taken from the stream's memory pool */
  size_t workspace_bytes;  /* as many as kl_..._workspace says, or more */
  int64_t B;  /* 0 or more */
  int64_t T;  /* 0 or more */
  int64_t H;  /* 1 or more */
  int64_t K;  /* 1 or more */
  int64_t V;  /* 1 or more */
  int64_t log_w_stride_B;  /* of log_w: T*H*K; 0 where there is one decay for each head */
  int64_t log_w_stride_T;  /* of log_w: H*K; 0 where there is one decay for each head */
  float scale;  /* 1 in RWKV, 1/sqrt(K) or 1/sqrt(D) elsewhere */
  int32_t reverse;  /* 1: time runs from T-1 to 0 */
  int64_t sequences;  /* of cu_seqlens, which begins with 0, never falls and ends with T (T_q, T_k) */
  const void* q;  /* (B, T, H, K) */
  const void* k;  /* (B, T, H, K) */
  const void* v;  /* (B, T, H, V) */
  const void* log_w;  /* (B, T, H, K), or (H, K) where both strides are 0; natural logarithm, at most 0. KL_BF16_FP32_DECAY: float */
  const void* u;  /* (H, K), or NULL */
  const float* initial_state;  /* (B or sequences, H, K, V), or NULL */
  const int64_t* cu_seqlens;  /* (sequences + 1), or NULL */
  const void* d_o;  /* (B, T, H, V) */
  const float* d_final_state;  /* (B or sequences, H, K, V), or NULL */
  void* dq;  /* (B, T, H, K) */
  void* dk;  /* (B, T, H, K) */
  void* dv;  /* (B, T, H, V) */
  void* d_log_w;  /* as log_w; (H, K) is the sum over B and T */
  float* du;  /* (H, K), or NULL */
  float* d_initial_state;  /* (B or sequences, H, K, V), or NULL */
} kl_wkv_backward_args;
#define KL_WKV_BACKWARD_ARGS {sizeof(kl_wkv_backward_args), KL_FP32, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

typedef struct kl_linear_attention_args {
  size_t struct_size;  /* of this struct, as you know it */
  int32_t storage;  /* what the void* arrays hold: KL_FP32, ... */
  int32_t batch_invariant;  /* 1: a sequence's result does not depend on how many others there are */
  const char* choice;  /* the kernel's name; NULL: the rules choose */
  void* stream;  /* a cudaStream_t; NULL: the default stream. The emulator has none */
  void* workspace;  /* device memory for the call; NULL: taken from the stream's memory pool */
  size_t workspace_bytes;  /* as many as kl_..._workspace says, or more */
  int64_t B;  /* 0 or more */
  int64_t T_q;  /* 0 or more */
  int64_t T_k;  /* 0 or more */
  int64_t H;  /* 1 or more */
  int64_t K;  /* 1 or more */
  int64_t V;  /* 1 or more */
  int32_t causal;  /* 1: a query sees no later keys */
  int32_t feature_map;  /* KL_IDENTITY or KL_ELU_PLUS_ONE */
  int32_t normalize;  /* 1: divided by the sum of the weights */
  float eps;  /* added to that sum */
  const void* q;  /* (B, T_q, H, K) */
  const void* k;  /* (B, T_k, H, K) */
  const void* v;  /* (B, T_k, H, V) */
  const int64_t* key_lengths;  /* (B), or NULL */
  void* o;  /* (B, T_q, H, V) */
} kl_linear_attention_args;
#define KL_LINEAR_ATTENTION_ARGS {sizeof(kl_linear_attention_args), KL_FP32, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1e-06f, NULL, NULL, NULL, NULL, NULL}

typedef struct kl_attention_args {
  size_t struct_size;  /* of this struct, as you know it */
  int32_t storage;  /* what the void* arrays hold: KL_FP32, ... */
  int32_t batch_invariant;  /* 1: a sequence's result does not depend on how many others there are */
  const char* choice;  /* the kernel's name; NULL: the rules choose */
  void* stream;  /* a cudaStream_t; NULL: the default stream. The emulator has none */
  void* workspace;  /* device memory for the call; NULL: taken from the stream's memory pool */
  size_t workspace_bytes;  /* as many as kl_..._workspace says, or more */
  int64_t B;  /* 0 or more */
  int64_t T_q;  /* 0 or more */
  int64_t T_k;  /* 0 or more */
  int64_t H_q;  /* 1 or more */
  int64_t H_kv;  /* 1 or more */
  int64_t D;  /* 1 or more */
  int64_t sequences;  /* of cu_seqlens, which begins with 0, never falls and ends with T (T_q, T_k) */
  int32_t causal;  /* 1: a query sees no later keys */
  float scale;  /* 1 in RWKV, 1/sqrt(K) or 1/sqrt(D) elsewhere */
  const void* q;  /* (B, T_q, H_q, D) */
  const void* k;  /* (B, T_k, H_kv, D) */
  const void* v;  /* (B, T_k, H_kv, D_v) */
  const int64_t* key_lengths;  /* (B), or NULL */
  const int64_t* cu_seqlens_q;  /* (sequences + 1), or NULL */
  const int64_t* cu_seqlens_k;  /* (sequences + 1), or NULL */
  void* o;  /* (B, T_q, H_q, D_v) */
  float* lse;  /* (B, H_q, T_q), natural logarithm of the sums of exponentials */
  int64_t window;  /* the last keys of those that a causal query sees: so many; 0: all */
  float softcap;  /* scores are softcap tanh(score / softcap); 0: as they are */
  int32_t reserved;  /* 0; room for what may come */
  int64_t D_v;  /* of v, o and their gradients; 0: D */
} kl_attention_args;
#define KL_ATTENTION_ARGS {sizeof(kl_attention_args), KL_FP32, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0.0f, 0, 0}

typedef struct kl_attention_backward_args {
  size_t struct_size;  /* of this struct, as you know it */
  int32_t storage;  /* what the void* arrays hold: KL_FP32, ... */
  int32_t batch_invariant;  /* 1: a sequence's result does not depend on how many others there are */
  const char* choice;  /* the kernel's name; NULL: the rules choose */
  void* stream;  /* a cudaStream_t; NULL: the default stream. The emulator has none */
  void* workspace;  /* device memory for the call; NULL: taken from the stream's memory pool */
  size_t workspace_bytes;  /* as many as kl_..._workspace says, or more */
  int64_t B;  /* 0 or more */
  int64_t T_q;  /* 0 or more */
  int64_t T_k;  /* 0 or more */
  int64_t H_q;  /* 1 or more */
  int64_t H_kv;  /* 1 or more */
  int64_t D;  /* 1 or more */
  int64_t sequences;  /* of cu_seqlens, which begins with 0, never falls and ends with T (T_q, T_k) */
  int32_t causal;  /* 1: a query sees no later keys */
  float scale;  /* 1 in RWKV, 1/sqrt(K) or 1/sqrt(D) elsewhere */
  const void* q;  /* (B, T_q, H_q, D) */
  const void* k;  /* (B, T_k, H_kv, D) */
  const void* v;  /* (B, T_k, H_kv, D_v) */
  const int64_t* key_lengths;  /* (B), or NULL */
  const int64_t* cu_seqlens_q;  /* (sequences + 1), or NULL */
  const int64_t* cu_seqlens_k;  /* (sequences + 1), or NULL */
  const void* o;  /* (B, T_q, H_q, D_v) */
  const float* lse;  /* (B, H_q, T_q), natural logarithm of the sums of exponentials */
  const void* d_o;  /* (B, T_q, H_q, D_v) */
  void* dq;  /* (B, T_q, H_q, D) */
  void* dk;  /* (B, T_k, H_kv, D) */
  void* dv;  /* (B, T_k, H_kv, D_v) */
  int64_t window;  /* the last keys of those that a causal query sees: so many; 0: all */
  float softcap;  /* scores are softcap tanh(score / softcap); 0: as they are */
  int32_t reserved;  /* 0; room for what may come */
  int64_t D_v;  /* of v, o and their gradients; 0: D */
} kl_attention_backward_args;
#define KL_ATTENTION_BACKWARD_ARGS {sizeof(kl_attention_backward_args), KL_FP32, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.0f, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0.0f, 0, 0}

/* The recurrence of RWKV-5/6 (Peng et al., Eagle and Finch, 2024). For each batch and head, S_0 the initial state or zeros:
 *     o_t[i]    = scale * sum_j q_t[j] * (S_(t-1)[j][i] + u[j] * k_t[j] * v_t[i])
 *     S_t[j][i] = exp(log_w_t[j]) * S_(t-1)[j][i] + k_t[j] * v_t[i]
 * T = 1 with both states is a step of decoding; they may be one array, which is updated in place. */
int32_t kl_wkv(const kl_wkv_args* args);
int32_t kl_wkv_workspace(const kl_wkv_args* args, size_t* bytes);   /* that this call needs; queues nothing */
int32_t kl_wkv_choice(const kl_wkv_args* args, const char** name);  /* the kernel that this call takes */

/* Gated linear attention (Yang et al., 2024): the same recurrence, read after the update and without u, which must be NULL:
 *     S_t = diag(exp(log_w_t)) S_(t-1) + k_t v_t        o_t = scale * q_t S_t */
int32_t kl_gla(const kl_wkv_args* args);
int32_t kl_gla_workspace(const kl_wkv_args* args, size_t* bytes);   /* that this call needs; queues nothing */
int32_t kl_gla_choice(const kl_wkv_args* args, const char** name);  /* the kernel that this call takes */

/* Gradients of kl_wkv; the forward pass is computed again. */
int32_t kl_wkv_backward(const kl_wkv_backward_args* args);
int32_t kl_wkv_backward_workspace(const kl_wkv_backward_args* args, size_t* bytes);   /* that this call needs; queues nothing */
int32_t kl_wkv_backward_choice(const kl_wkv_backward_args* args, const char** name);  /* the kernel that this call takes */

/* Gradients of kl_gla; u and du must be NULL. */
int32_t kl_gla_backward(const kl_wkv_backward_args* args);
int32_t kl_gla_backward_workspace(const kl_wkv_backward_args* args, size_t* bytes);   /* that this call needs; queues nothing */
int32_t kl_gla_backward_choice(const kl_wkv_backward_args* args, const char** name);  /* the kernel that this call takes */

/* Linear attention (Katharopoulos et al., Transformers are RNNs, 2020), phi the feature map, over the keys s that query l may see:
 *     o_l = sum_s (phi(q_l) . phi(k_s)) v_s, and with `normalize` divided by (sum_s phi(q_l) . phi(k_s)) + eps */
int32_t kl_linear_attention(const kl_linear_attention_args* args);
int32_t kl_linear_attention_workspace(const kl_linear_attention_args* args, size_t* bytes);   /* that this call needs; queues nothing */
int32_t kl_linear_attention_choice(const kl_linear_attention_args* args, const char** name);  /* the kernel that this call takes */

/* Softmax attention (Vaswani et al., 2017; Dao, FlashAttention-2, 2023), over the keys c that query l may see:
 *     o_l = sum_c exp(scale * q_l . k_c - lse_l) v_c        lse_l = log sum_c exp(scale * q_l . k_c)
 * Query head h uses key head h / (H_q / H_kv). Causal: the last query is aligned with the last key. A query that sees no key has o = 0
 * and lse = -inf. Few queries and a long cache, with key_lengths, are decoding. A kernel that has no window, no softcap, no scale of 0
 * and below, or no D_v unlike D refuses them. */
int32_t kl_attention(const kl_attention_args* args);
int32_t kl_attention_workspace(const kl_attention_args* args, size_t* bytes);   /* that this call needs; queues nothing */
int32_t kl_attention_choice(const kl_attention_args* args, const char** name);  /* the kernel that this call takes */

/* Gradients of kl_attention, from its o and lse. */
int32_t kl_attention_backward(const kl_attention_backward_args* args);
int32_t kl_attention_backward_workspace(const kl_attention_backward_args* args, size_t* bytes);   /* that this call needs; queues nothing */
int32_t kl_attention_backward_choice(const kl_attention_backward_args* args, const char** name);  /* the kernel that this call takes */

#ifdef __cplusplus
}
#endif
#endif
