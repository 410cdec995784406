#!/usr/bin/env python3
"""Writes library/include/kernel_ladder.h, the C interface, and library/kernel_ladder_exports.inc,
its definitions, from the operators' lists (abi/lists.cpp prints them).

A struct's members never move: members of the existing header keep their order, and new ones are
appended. A member that a list no longer has, or has with another type, is an error.

usage: library/abi/generate.py           writes both
       library/abi/generate.py --check   compares instead, and searches the header's history for a
                                         member that moved or disappeared"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "library/include/kernel_ladder.h"
EXPORTS = ROOT / "library/kernel_ladder_exports.inc"

# The formulas of common/operators.
WKV = """The recurrence of RWKV-5/6 (Peng et al., Eagle and Finch, 2024). For each batch and head, S_0 the initial state or zeros:
 *     o_t[i]    = scale * sum_j q_t[j] * (S_(t-1)[j][i] + u[j] * k_t[j] * v_t[i])
 *     S_t[j][i] = exp(log_w_t[j]) * S_(t-1)[j][i] + k_t[j] * v_t[i]
 * T = 1 with both states is a step of decoding; they may be one array, which is updated in place."""
GLA = """Gated linear attention (Yang et al., 2024): the same recurrence, read after the update and without u, which must be NULL:
 *     S_t = diag(exp(log_w_t)) S_(t-1) + k_t v_t        o_t = scale * q_t S_t"""
LINEAR_ATTENTION = """Linear attention (Katharopoulos et al., Transformers are RNNs, 2020), phi the feature map, over the keys s that query l may see:
 *     o_l = sum_s (phi(q_l) . phi(k_s)) v_s, and with `normalize` divided by (sum_s phi(q_l) . phi(k_s)) + eps"""
ATTENTION = """Softmax attention (Vaswani et al., 2017; Dao, FlashAttention-2, 2023), over the keys c that query l may see:
 *     o_l = sum_c exp(scale * q_l . k_c - lse_l) v_c        lse_l = log sum_c exp(scale * q_l . k_c)
 * Query head h uses key head h / (H_q / H_kv). Causal: the last query is aligned with the last key. A query that sees no key has o = 0
 * and lse = -inf. Few queries and a long cache, with key_lengths, are decoding. A kernel that has no window, no softcap, no scale of 0
 * and below, or no D_v unlike D refuses them."""

# {function: (struct, operator's type, the argument structs of its storages, its description)}
RECURRENCE = ("WkvArgs", "WkvBf16Args", "WkvBf16Fp32DecayArgs")
RECURRENCE_GRADIENTS = ("WkvGradArgs", "WkvGradBf16Args", "WkvGradBf16Fp32DecayArgs")
OPERATORS = {
    "wkv": ("wkv", "Wkv", RECURRENCE, WKV),
    "gla": ("wkv", "Gla", RECURRENCE, GLA),
    "wkv_backward": ("wkv_backward", "WkvBackward", RECURRENCE_GRADIENTS, "Gradients of kl_wkv; the forward pass is computed again."),
    "gla_backward": ("wkv_backward", "GlaBackward", RECURRENCE_GRADIENTS, "Gradients of kl_gla; u and du must be NULL."),
    "linear_attention": ("linear_attention", "LinearAttention", ("LinearAttentionArgs", "LinearAttentionBf16Args"),
                         LINEAR_ATTENTION),
    "attention": ("attention", "Attention", ("AttentionArgs", "AttentionBf16Args", "AttentionFp16Args"),
                  ATTENTION),
    "attention_backward": ("attention_backward", "AttentionBackward", ("AttentionGradArgs", "AttentionGradBf16Args", "AttentionGradFp16Args"),
                           "Gradients of kl_attention, from its o and lse."),
}
# The first members of every struct: name, type, default, sentence.
CONTROL = [
    ("struct_size", "size_t", "sizeof(kl_{}_args)", "of this struct, as you know it"),
    ("storage", "int32_t", "KL_FP32", "what the void* arrays hold: KL_FP32, ..."),
    ("batch_invariant", "int32_t", "0", "1: a sequence's result does not depend on how many others there are"),
    ("choice", "const char*", "NULL", "the kernel's name; NULL: the rules choose"),
    ("stream", "void*", "NULL", "a cudaStream_t; NULL: the default stream. The emulator has none"),
    ("workspace", "void*", "NULL", "device memory for the call; NULL: taken from the stream's memory pool"),
    ("workspace_bytes", "size_t", "0", "as many as kl_..._workspace says, or more"),
]
SAYS = {  # if a list does not say everything
    "log_w_stride_B": "of log_w: T*H*K; 0 where there is one decay for each head",
    "log_w_stride_T": "of log_w: H*K; 0 where there is one decay for each head",
    "log_w": "(B, T, H, K), or (H, K) where both strides are 0; natural logarithm, at most 0. KL_BF16_FP32_DECAY: float",
    "d_log_w": "as log_w; (H, K) is the sum over B and T",
    "sequences": "of cu_seqlens, which begins with 0, never falls and ends with T (T_q, T_k)",
    "scale": "1 in RWKV, 1/sqrt(K) or 1/sqrt(D) elsewhere",
    "reverse": "1: time runs from T-1 to 0",
    "causal": "1: a query sees no later keys",
    "feature_map": "KL_IDENTITY or KL_ELU_PLUS_ONE",
    "normalize": "1: divided by the sum of the weights",
    "eps": "added to that sum",
    "window": "the last keys of those that a causal query sees: so many; 0: all",
    "softcap": "scores are softcap tanh(score / softcap); 0: as they are",
    "D_v": "of v, o and their gradients; 0: D",
    "lse": "(B, H_q, T_q), natural logarithm of the sums of exponentials",
}
TYPE_BYTES = {"int32_t": 4, "float": 4}  # all others: 8
# After the last member, if it would end within 8 bytes.
RESERVED = ("reserved", "int32_t", "0", "0; room for what may come")

BEGIN = '''/* clang-format off */
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

'''
FUNCTIONS = '''/* {says} */
int32_t kl_{name}(const kl_{struct}_args* args);
int32_t kl_{name}_workspace(const kl_{struct}_args* args, size_t* bytes);   /* that this call needs; queues nothing */
int32_t kl_{name}_choice(const kl_{struct}_args* args, const char** name);  /* the kernel that this call takes */
'''
END = '''
#ifdef __cplusplus
}
#endif
#endif
'''


def printed_lists():
    """{struct: [(name, type, default, sentence)]}, as the compiler sees the lists."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/lists"
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", f"-I{ROOT}", f"{ROOT}/library/abi/lists.cpp", "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    structs = {}
    for line in lines:
        struct, name, kind, value, says = line.split("\t")
        structs.setdefault(struct, []).append((name, kind, value, SAYS.get(name, says.replace("(sequences, H", "(B or sequences, H"))))
    return structs


def members_in(header):
    """{struct: [(name, type)]} of a header's text."""
    bodies = re.findall(r"^typedef struct kl_(\w+)_args \{\n(.*?)^\}", header, re.DOTALL | re.MULTILINE)
    return {name: [(member[1], member[0]) for member in re.findall(r"^  ((?:const )?\w+\*?) (\w+);", body, re.MULTILINE)] for name, body in bodies}


def ordered(struct, members, published):
    """The members, published ones first and in their order."""
    by_name = {member[0]: member for member in members}
    for name, kind in published:
        if by_name.get(name, (name, None))[1] != kind:
            sys.exit(f"kl_{struct}_args has '{kind} {name}', which the list no longer has so; allowed: appending new members")
    known = [name for name, _ in published]
    return [by_name[name] for name in known] + [member for member in members if member[0] not in known]


def size_of(members):
    return sum(TYPE_BYTES.get(kind, 8) for _, kind, _, _ in members)


def texts(structs, published):
    header, exports = BEGIN, "// clang-format off\n// Written by library/abi/generate.py: where a struct has which member, and the functions of kernel_ladder.h.\n\nnamespace {\n"
    for struct, members in structs.items():
        control = [(name, kind, value.format(struct), says) for name, kind, value, says in CONTROL]
        known = published.get(struct, [])
        members = ordered(struct, control + members + [RESERVED] * (RESERVED[:2] in known), known)
        members += [RESERVED] * (size_of(members) % 8 > 0)
        header += f"typedef struct kl_{struct}_args {{\n"
        for name, kind, _, says in members:
            header += f"  {kind} {name};{'  /* ' + says + ' */' if says else ''}\n"
        header += f"}} kl_{struct}_args;\n#define KL_{struct.upper()}_ARGS {{{', '.join(value for _, _, value, _ in members)}}}\n\n"
        exports += f"\ntemplate <>\nstruct Members<kl_{struct}_args> {{\n  static constexpr Member list[] = {{\n"
        exports += "".join(f'      {{"{name}", offsetof(kl_{struct}_args, {name})}},\n' for name, _, _, _ in members if name not in dict(c[:2] for c in CONTROL))
        exports += f"  }};\n}};\nstatic_assert(sizeof(kl_{struct}_args) == {size_of(members)});  // no padding, which an appended member would lie in\n"
    exports += '\n}  // namespace\n\nextern "C" {\n'
    for name, (struct, operator, storages, says) in OPERATORS.items():
        header += FUNCTIONS.format(name=name, struct=struct, says=says) + "\n"
        what = f"<{operator}, kl_{struct}_args, {', '.join(storages)}>"
        exports += f'\nKL_API int32_t kl_{name}(const kl_{struct}_args* args) {{\n  return call{what}(args);\n}}\n'
        exports += f'KL_API int32_t kl_{name}_workspace(const kl_{struct}_args* args, size_t* bytes) {{\n  return workspace{what}(args, bytes);\n}}\n'
        exports += f'KL_API int32_t kl_{name}_choice(const kl_{struct}_args* args, const char** name) {{\n  return choice{what}(args, name);\n}}\n'
    return header.rstrip("\n") + "\n" + END, exports + "\n}  // extern \"C\"\n"


def moved():
    """The members of older headers in this tree's history that a newer one lacks or has
    elsewhere."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    path = str(HEADER.relative_to(ROOT))
    later = members_in(HEADER.read_text())
    for commit in git("log", "--format=%H", "--", path).stdout.split():
        earlier = members_in(git("show", f"{commit}:{path}").stdout)
        for struct, members in earlier.items():
            if later.get(struct, [])[:len(members)] != members:
                return f"kl_{struct}_args of {commit[:12]} is no beginning of the one after it; allowed: appending new members"
        later = earlier
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    published = members_in(HEADER.read_text()) if HEADER.exists() else {}
    structs = printed_lists()
    for struct in published:
        if struct not in structs:
            sys.exit(f"kl_{struct}_args is gone; allowed: appending new members")
    for path, text in zip((HEADER, EXPORTS), texts(structs, published)):
        if not check:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.relative_to(ROOT)} is not what the operators' lists say: run library/abi/generate.py")
    if check and (sentence := moved()):
        sys.exit(sentence)
    if check:
        print(f"{len(structs)} structs, {sum(map(len, published.values()))} members: the header is what the lists say, and was only appended to")


if __name__ == "__main__":
    main()
