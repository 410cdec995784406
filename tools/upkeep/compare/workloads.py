"""The inputs of a case, the truth in float64 for a sample of them, and calls of our
implementations."""
import torch

from cases import BITS

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "bf16_fp32_decay": torch.bfloat16}
SAMPLED_BATCHES = 8


def make_inputs(case, seed, device):
    """One copy of a case's inputs, drawn like the ladder's: uniform in -1 to 1, log_w = -exp(-4 to
    -1); for attention normal."""
    generator = torch.Generator(device=device).manual_seed(seed)
    dtype = DTYPES[case.precision]
    s = case.sizes

    def uniform(*shape, low=-1.0, high=1.0):
        return torch.rand(shape, generator=generator, device=device) * (high - low) + low

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device).to(dtype)

    if case.group == "warmup":
        return warmup_inputs(case, uniform)
    if case.group == "attention":
        data = {"q": normal(s["B"], s["T_q"], s["H_q"], s["D"]), "k": normal(s["B"], s["T_k"], s["H_kv"], s["D"]),
                "v": normal(s["B"], s["T_k"], s["H_kv"], s["D"]), "scale": s["D"] ** -0.5}
        if case.backward:
            data["d_o"] = normal(s["B"], s["T_q"], s["H_q"], s["D"])
        return data
    keys, values = (s["B"], s["T"], s["H"], s["K"]), (s["B"], s["T"], s["H"], s["V"])
    data = {"q": uniform(*keys).to(dtype), "k": uniform(*keys).to(dtype), "v": uniform(*values).to(dtype)}
    if case.group == "linear_attention":
        return data
    data["log_w"] = -torch.exp(uniform(*keys, low=-4.0, high=-1.0))
    if case.precision == "bf16":
        data["log_w"] = data["log_w"].to(dtype)
    data["scale"] = 1.0
    if case.group == "wkv":
        data["u"] = uniform(s["H"], s["K"]).to(dtype)
    if case.states:
        data["initial_state"] = uniform(s["B"], s["H"], s["K"], s["V"])
    if case.backward:
        data["d_o"] = uniform(*values).to(dtype)
    return data


def bytes_of(data):
    return sum(value.numel() * value.element_size() for value in data.values() if isinstance(value, torch.Tensor))


# ---- chapter 00 ----

def warmup_inputs(case, uniform):
    """The inputs in the operator's order, and the shape of its output."""
    s = case.sizes
    if case.operator == "vector_add":
        return {"a": uniform(s["N"]), "b": uniform(s["N"]), "y_shape": (s["N"],)}
    if case.operator == "sum":
        return {"x": uniform(s["N"]), "y_shape": (1,)}
    if case.operator == "matmul":
        dtype = DTYPES[case.precision]
        return {"a": uniform(s["M"], s["K"]).to(dtype), "b": uniform(s["K"], s["N"]).to(dtype), "bias": None, "y_shape": (s["M"], s["N"])}
    if case.operator == "batched_matmul":
        return {"a": uniform(s["B"], s["M"], s["K"]), "b": uniform(s["K"], s["N"]), "bias": uniform(s["N"]),
                "y_shape": (s["B"], s["M"], s["N"])}
    if case.operator == "conv2d":
        image = [(s[size] + 2 * s["pad"] - s["K" + size]) // s["stride"] + 1 for size in ("H", "W")]
        return {"x": uniform(s["B"], s["C"], s["H"], s["W"]), "weight": uniform(s["M"], s["C"], s["KH"], s["KW"]),
                "bias": uniform(s["M"]), "y_shape": (s["B"], s["M"], *image)}
    if case.operator in BITS:
        groups, bits = s["K"] // s["GROUP"], BITS[case.operator]
        # a word of four bytes holds eight 4-bit weights
        rows, columns = (s["K"], s["N"]) if bits == 8 else (s["K"] // 8, 4 * s["N"])
        return {"a": uniform(s["M"], s["K"]), "w": uniform(rows, columns, low=0, high=256).to(torch.uint8),
                "scale": uniform(groups, s["N"], low=0.01, high=0.02), "zero": uniform(groups, s["N"], low=0, high=2**bits).to(torch.uint8),
                "y_shape": (s["M"], s["N"])}
    data = {"x": uniform(s["M"], s["N"])}
    if case.operator == "rms_norm":
        data["weight"] = uniform(s["N"])
    return {**data, "y_shape": (s["N"], s["M"]) if case.operator == "transpose" else (s["M"], s["N"])}


def weights_of(case, data):
    """A low-bit case's weights as integers, (K, N). Word k / 8 of a column holds them from its
    lowest bits on."""
    if BITS[case.operator] == 8:
        return data["w"]
    parts = data["w"].view(case.sizes["K"] // 8, case.sizes["N"], 4)
    nibbles = torch.stack((parts & 15, parts >> 4), dim=-1)  # (K / 8, N, byte, half)
    return nibbles.flatten(2).transpose(1, 2).reshape(case.sizes["K"], case.sizes["N"])


def dequantised(case, data, dtype):
    """scale * (q - zero), (K, N), in `dtype`."""
    scale, zero = (data[name].to(dtype).repeat_interleave(case.sizes["GROUP"], 0) for name in ("scale", "zero"))
    return (weights_of(case, data).to(dtype) - zero) * scale


def warmup_truth(case, data):
    if case.operator in BITS:
        return data["a"].double() @ dequantised(case, data, torch.float64)
    x = {name: value.double() for name, value in data.items() if isinstance(value, torch.Tensor)}
    if case.operator == "vector_add":
        return x["a"] + x["b"]
    if case.operator == "matmul":
        return x["a"] @ x["b"]
    if case.operator == "batched_matmul":
        return torch.nn.functional.gelu(x["a"] @ x["b"] + x["bias"])
    if case.operator == "conv2d":
        return torch.nn.functional.conv2d(x["x"], x["weight"], x["bias"], case.sizes["stride"], case.sizes["pad"])
    if case.operator == "transpose":
        return x["x"].t()
    if case.operator == "sum":
        return x["x"].sum(dim=0, keepdim=True)
    if case.operator == "softmax":
        return torch.softmax(x["x"], -1)
    return x["x"] * torch.rsqrt((x["x"] ** 2).mean(-1, keepdim=True) + 1e-5) * x["weight"]


# ---- the truth ----

def sample(case, name, tensor):
    """The part of a whole tensor (B, T, H, ...), or (H, K), or (B, H, K, V) for which the truth is
    computed."""
    if case.group == "attention":
        s = case.sizes
        heads = [(0, 0), (s["B"] - 1, s["H_q"] - 1)]
        group = s["H_q"] // s["H_kv"] if name in ("k", "v", "dk", "dv") else 1
        return torch.stack([tensor[b, :, h // group] for b, h in heads])
    heads = [case.sizes["H"] - 1] if case.backward else [0, case.sizes["H"] - 1]
    if name in ("u", "du"):
        return tensor[heads]
    if name in ("initial_state", "final_state"):
        return tensor[:SAMPLED_BATCHES, heads]
    return tensor[:SAMPLED_BATCHES, :, heads]


def recurrence(q, k, v, log_w, u, state, scale):
    """o and the last state. u is None for GLA. Inputs are (B, T, H, .), in their own precision."""
    S = torch.zeros((q.shape[0], q.shape[2], q.shape[3], v.shape[3]), dtype=q.dtype, device=q.device) if state is None else state
    rows = []
    for q_t, k_t, v_t, w_t in zip(*(x.unbind(1) for x in (q, k, v, torch.exp(log_w)))):
        kv = k_t[..., None] * v_t[..., None, :]
        read = S + u[..., None] * kv if u is not None else None
        S = w_t[..., None] * S + kv
        rows.append(scale * (q_t[..., None, :] @ (S if u is None else read)).squeeze(-2))
    return torch.stack(rows, dim=1), S


def softmax_attention(q, k, v, scale, causal):
    """(heads, T, D) each."""
    scores = scale * q @ k.transpose(-1, -2)
    if causal:
        T_q, T_k = scores.shape[-2:]
        hidden = torch.ones((T_q, T_k), dtype=torch.bool, device=q.device).triu(1 + T_k - T_q)
        scores = scores.masked_fill(hidden, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


def truth(case, data):
    """{name: float64 tensor} for the sample; for chapter 00 the whole output."""
    if case.group == "warmup":
        return {"y": warmup_truth(case, data)}
    x = {name: sample(case, name, value).double() for name, value in data.items() if isinstance(value, torch.Tensor)}
    leaves = [name for name in ("q", "k", "v", "log_w", "u") if name in x]
    if case.backward:
        for name in leaves:
            x[name].requires_grad_()
    with torch.set_grad_enabled(case.backward):
        state = None
        if case.group == "attention":
            o = softmax_attention(x["q"], x["k"], x["v"], data["scale"], case.causal)
        elif case.group == "linear_attention":
            q, k, v = (x[name].transpose(1, 2) for name in ("q", "k", "v"))
            o = ((q @ k.transpose(-1, -2)).tril() @ v).transpose(1, 2)
        else:
            o, state = recurrence(x["q"], x["k"], x["v"], x["log_w"], x.get("u"), x.get("initial_state"), data["scale"])
    result = {"o": o.detach()}
    if case.states:
        result["final_state"] = state
    if case.backward:
        gradients = torch.autograd.grad(o, [x[name] for name in leaves], x["d_o"])
        result.update({f"d{'_' if name == 'log_w' else ''}{name}": g for name, g in zip(leaves, gradients)})
    return result


def errors(case, outputs, right):
    """The whole sample's relative error of each output, |x - truth| / |truth|. NaN stays NaN."""
    result = {}
    for name, tensor in outputs.items():
        if name in right:
            seen = tensor if case.group == "warmup" else sample(case, name, tensor)
            difference = seen.double() - right[name]
            result[name] = float(difference.norm() / right[name].norm())
    return result


# ---- ours ----

def our_call(library, implementation, case, data):
    """A function that runs the implementation and returns {name: tensor}. WKV's backward includes
    the forward pass, because the peers' gradients need one. Attention's does not, because both
    sides keep o and lse of an untimed forward pass."""
    s = case.sizes
    first = next(value for value in data.values() if isinstance(value, torch.Tensor))
    device, dtype = first.device, first.dtype
    torch.cuda.synchronize()  # the launchers' stream does not wait for PyTorch's

    def empty(*shape, like=dtype):
        return torch.empty(shape, dtype=like, device=device)

    sizes = dict(s)
    if case.group == "linear_attention":
        sizes["T_q"] = sizes["T_k"] = sizes.pop("T")

    def made(name, values, operator=case.operator):
        return library.call(name, operator, case.precision, {**sizes, **values})

    if case.group == "warmup":
        y = empty(*data["y_shape"])
        inputs = {name: value for name, value in data.items() if name not in ("y_shape", "library")}
        name = "c" if case.operator == "vector_add" or case.operator.endswith("matmul") else "y"
        options = {"with_bias": True, "gelu": True} if case.operator == "batched_matmul" else {}
        run, outputs = made(implementation, {**inputs, **options, name: y}), {"y": y}
    elif case.group == "attention":
        o, lse = empty(*data["q"].shape), empty(s["B"], s["H_q"], s["T_q"], like=torch.float32)
        values = {**data, "o": o, "lse": lse, "causal": case.causal}
        if not case.backward:
            run, outputs = made(implementation, values), {"o": o}
        else:
            outputs = {f"d{name}": torch.empty_like(data[name]) for name in ("q", "k", "v")}
            first = {name: value for name, value in values.items() if name != "d_o"}
            forward = implementation.replace("_backward", "") if implementation.endswith("sm90") else "attention_pipelined"
            made(forward, first, "attention")()
            run = made(implementation, {**values, **outputs})
    elif case.group == "linear_attention":
        o = empty(*data["v"].shape)
        run, outputs = made(implementation, {**data, "o": o, "causal": True, "feature_map": 0, "normalize": False}), {"o": o}
    else:
        outputs = {"o": empty(*data["v"].shape)}
        values = {name: value for name, value in data.items() if name != "d_o"}
        values.update(log_w_stride_B=s["T"] * s["H"] * s["K"], log_w_stride_T=s["H"] * s["K"])
        if case.states:
            outputs["final_state"] = empty(s["B"], s["H"], s["K"], s["V"], like=torch.float32)
        run = made(forward_implementation(library, implementation, case), {**values, **outputs}, case.operator.removesuffix("_backward"))
        if case.backward:
            gradients = {f"d{name}": torch.empty_like(data[name]) for name in ("q", "k", "v")} | {"d_log_w": torch.empty_like(data["log_w"])}
            if case.group == "wkv":
                gradients["du"] = empty(s["H"], s["K"], like=torch.float32)
            outputs = {**outputs, **gradients}
            runs = (run, made(implementation, {**values, "d_o": data["d_o"], **gradients}))

            def run():
                for each in runs:
                    each()

    def call():
        run()
        return outputs

    return call


def forward_implementation(library, implementation, case):
    if not case.backward:
        return implementation
    forward = f"best_{case.group}"
    return forward if forward in library.names else "wkv_chunkwise"


def our_label(library, implementation, case):
    if case.backward and case.group != "attention":
        return f"{forward_implementation(library, implementation, case)} and {implementation}"
    return implementation
