"""Lists what is compared: cases, our implementations, and the peers of each. Needs neither PyTorch
nor a GPU."""
import dataclasses
import fnmatch

# Our implementations. The first that exists leads the table; a library may lack some, because
# best_* is newer than the chapters.
OURS = {
    "wkv": ("best_wkv", "wkv_chunkwise", "wkv_time_tiles"),
    "wkv decode": ("best_wkv", "wkv_time_tiles"),
    "wkv_backward": ("wkv_chunkwise_backward",),
    "gla": ("best_gla", "wkv_chunkwise", "wkv_time_tiles"),
    "linear_attention": ("best_linear_attention", "linear_attention_chunkwise", "linear_attention_shared_mem"),
    "attention": ("attention_sm90", "attention_pipelined"),
    "attention decode": ("attention_split_keys",),
    "attention_backward": ("attention_backward_sm90", "attention_backward"),
    "vector_add": ("vector_add_vectors", "vector_add_grid_stride", "vector_add_per_element"),
    "transpose": ("transpose_wide", "transpose_tiled", "transpose_unpadded", "transpose_at_the_read", "transpose_at_the_write"),
    "sum": ("sum_two_passes", "sum_shuffle", "sum_tree"),
    "softmax": ("softmax_rows", "softmax_warp"),
    "rms_norm": ("rms_norm_rows", "rms_norm_warp"),
    "matmul": ("matmul_double_buffer", "matmul_wide_loads", "matmul_register_blocks", "matmul_eight_results", "matmul_tuned", "matmul_tiles", "matmul_naive"),
    "matmul bf16": ("matmul_grouped", "matmul_copies_ahead", "matmul_one_stage", "matmul_two_stages", "matmul_four_stages",
                    "matmul_swizzled", "matmul_ldmatrix", "matmul_tensor_tiles"),
    "batched_matmul": ("batched_matmul_tiles",),
    "conv2d": ("conv2d_im2col", "conv2d_direct", "conv2d_window"),
    "int8_matmul": ("int8_tiles",),
    "int4_matmul": ("int4_row", "int4_split_atomic", "int4_split_second_pass", "int4_tuned"),
}

BITS = {"int8_matmul": 8, "int4_matmul": 4}  # per weight

CUDNN = ("cudnn_bthd", "cudnn_bhtd")  # cuDNN in two layouts, ours and its usual one
SDPA = (*CUDNN, "flash_attention_2")
# Low-bit products in PyTorch, with weights converted to fp32 in each call or once before, or with
# its own kernel for four bits.
DEQUANTISED = ("torch_dequantised", "torch_ready")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    group: str  # wkv, gla, linear_attention, attention
    operator: str
    precision: str  # the library's name: fp32, bf16, bf16_fp32_decay
    sizes: dict
    ours: tuple
    peers: tuple
    causal: bool = False
    states: bool = False  # a state comes in and goes out
    whole_call: bool = False  # also times what a caller waits

    @property
    def backward(self):
        return self.operator.endswith("_backward")

    def operations(self):
        """The operations that TFLOP/s count, for attention and products; 0 if only time or bytes
        matter."""
        if self.operator == "conv2d":
            s = self.sizes
            places = [(s[image] + 2 * s["pad"] - s[window]) // s["stride"] + 1 for image, window in (("H", "KH"), ("W", "KW"))]
            return 2.0 * s["B"] * s["M"] * places[0] * places[1] * s["C"] * s["KH"] * s["KW"]
        if self.operator.endswith("matmul"):
            return 0 if self.sizes["M"] == 1 else 2.0 * self.sizes.get("B", 1) * self.sizes["M"] * self.sizes["N"] * self.sizes["K"]
        if self.group != "attention" or self.sizes["T_q"] == 1:
            return 0
        s = self.sizes
        products = 4.0 * s["B"] * s["H_q"] * s["T_q"] * s["T_k"] * s["D"]
        return products * (0.5 if self.causal else 1) * (2.5 if self.backward else 1)


    def bytes(self):
        """The bytes that GB/s count, for chapter 00: every array, moved once."""
        s = self.sizes
        if self.group != "warmup" or self.operations():
            return 0
        if self.operator in BITS:  # one row: weights, scales and zero points, a and c
            return s["K"] * s["N"] * BITS[self.operator] // 8 + s["K"] // s["GROUP"] * s["N"] * 5 + 4 * (s["K"] + s["N"])
        if self.operator == "matmul":
            return 4 * (s["K"] * s["N"] + s["K"] + s["N"])
        elements = s["N"] * s.get("M", 1)
        return 4 * {"vector_add": 3 * elements, "transpose": 2 * elements, "sum": elements, "softmax": 2 * elements,
                    "rms_norm": 2 * elements + s["N"]}[self.operator]


def _warmup(operator, peers, precision="fp32", **sizes):
    which = operator if precision == "fp32" else f"{operator} {precision}"
    name = "_".join([*which.split(), *(f"{size}{value}" for size, value in sizes.items())])
    return Case(name, "warmup", operator, precision, sizes, OURS[which], peers)


def _recurrence(operator, precision, B, T, H, K, peers, states=False, whole_call=False):
    group = operator.split("_")[0]
    name = f"{operator}_{precision}_B{B}_T{T}_H{H}_K{K}"
    if states:
        name = f"{group}_decode_{precision}_B{B}"
    return Case(name, group, operator, precision, {"B": B, "T": T, "H": H, "K": K, "V": K},
                OURS[f"{group} decode" if states else operator], peers, states=states,
                whole_call=whole_call)


def _attention(operator, B, T_q, T_k, H_q, H_kv, D, causal):
    decode = T_q == 1
    name = f"{operator}_T{T_k}_D{D}{'_causal' if causal else ''}"
    if decode:
        name = f"attention_decode_B{B}_H{H_q}_{H_kv}_T{T_k}_D{D}"
    return Case(name, "attention", operator, "bf16",
                {"B": B, "T_q": T_q, "T_k": T_k, "H_q": H_q, "H_kv": H_kv, "D": D},
                OURS["attention decode" if decode else operator], SDPA, causal=causal)


def all_cases():
    fla = ("fla_chunk", "fla_fused_recurrent")
    cases = []
    for precision in ("bf16", "fp32"):
        for B, T, H, K in ((8, 4096, 32, 64), (1, 4096, 32, 64), (1, 16384, 32, 64), (8, 4096, 16, 128), (32, 1024, 32, 64)):
            # FLA's recurrence is exact in fp32, and much slower than its chunks in bf16, so one
            # case is enough there.
            recurrent = precision == "fp32" or (B, K) == (8, 64)
            # RWKV-CUDA has one block per head, so few heads do not suit it
            authors = B > 1 and K == 64
            cases.append(_recurrence("wkv", precision, B, T, H, K, (*fla[: 1 + recurrent], *("rwkv_cuda",) * authors)))
        cases.append(_recurrence("wkv", precision, 1, 54, 32, 64, (*fla, "rwkv_cuda"), whole_call=True))
        for B in (1, 8, 64):
            cases.append(_recurrence("wkv", precision, B, 1, 32, 64, ("fla_fused_recurrent",), states=True,
                                     whole_call=True))
    cases.append(_recurrence("wkv", "bf16_fp32_decay", 8, 4096, 32, 64, ("fla_chunk", "rwkv_cuda")))
    for precision, B in (("bf16", 8), ("bf16", 1), ("fp32", 8), ("fp32", 1)):
        cases.append(_recurrence("wkv_backward", precision, B, 4096, 32, 64, ("fla_chunk",)))
    for H, K in ((32, 64), (16, 128), (4, 256)):
        cases.append(_recurrence("gla", "bf16", 8, 4096, H, K, fla))
    for precision in ("bf16", "fp32"):
        peers = ("fla_chunk", "fla_fused_chunk", *(("fast_transformers",) if precision == "fp32" else ()))
        cases.append(Case(f"linear_attention_{precision}_B8_T4096_H32_K64", "linear_attention", "linear_attention",
                          precision, {"B": 8, "T": 4096, "H": 32, "K": 64, "V": 64}, OURS["linear_attention"], peers,
                          causal=True))
    for operator in ("attention", "attention_backward"):
        for D in (128, 64):
            for causal in (False, True):
                cases.append(_attention(operator, 4, 4096, 4096, 2048 // D, 2048 // D, D, causal))
        cases.append(_attention(operator, 4, 4096, 4096, 16, 16, 96, False))
    cases.append(_attention("attention", 1, 16384, 16384, 16, 16, 128, True))
    for T in (512, 1024):
        for D in (128, 64):
            for causal in (False, True):
                cases.append(_attention("attention", 16384 // T, T, T, 2048 // D, 2048 // D, D, causal))
    cases.append(_attention("attention", 1, 1, 32768, 32, 8, 128, False))
    cases.append(_attention("attention", 8, 1, 32768, 32, 32, 128, False))
    # Chapter 00: PyTorch's own kernels, and as ceilings a copy of as many bytes, and a kernel that
    # only reads.
    cases.append(_warmup("vector_add", ("torch", "copy"), N=2**28))
    cases.append(_warmup("transpose", ("torch", "copy"), M=8192, N=8192))
    cases.append(_warmup("sum", ("torch", "read"), N=2**28))
    for M, N in ((262144, 1024), (32768, 8192)):
        cases.append(_warmup("softmax", ("torch", "copy"), M=M, N=N))
        cases.append(_warmup("rms_norm", ("torch", "copy"), M=M, N=N))
    cases.append(_warmup("matmul", ("torch",), M=8192, N=8192, K=8192))
    cases.append(_warmup("matmul", ("torch",), "bf16", M=8192, N=8192, K=8192))
    # sizes for which the autotuner has a choice
    for M, N, K in ((1, 8192, 8192), (256, 256, 4096)):
        cases.append(_warmup("matmul", ("torch",), M=M, N=N, K=K))
    cases.append(_warmup("batched_matmul", ("torch",), B=8, M=512, N=1024, K=1024, with_bias=1, gelu=1))
    cases.append(_warmup("conv2d", ("torch",), B=8, M=64, C=64, H=56, W=56, KH=3, KW=3, stride=1, pad=1))
    cases.append(_warmup("int8_matmul", DEQUANTISED, M=64, N=4096, K=4096, GROUP=64))
    for N in (8192, 1024):
        cases.append(_warmup("int4_matmul", (*DEQUANTISED, "torch_int4pack", "read"), M=1, N=N, K=8192, GROUP=128))
    return cases


def chosen(only):
    """The cases whose name matches one of the patterns, or all without patterns. Raises ValueError
    for a pattern without a match."""
    cases = all_cases()
    for pattern in only:
        if not fnmatch.filter([case.name for case in cases], pattern):
            raise ValueError(f"--only {pattern} fits no case; allowed: patterns that fit one of --list")
    return [case for case in cases if not only or any(fnmatch.fnmatch(case.name, pattern) for pattern in only)]
