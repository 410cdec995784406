"""Kernel Ladder's kernels on numpy arrays, torch tensors and other arrays with DLPack. Arrays on a
GPU are computed there. Arrays of the host are computed by the same kernels in the emulator, slowly.
`kernel_ladder.torch` has the names that users of FLA and PyTorch know, with gradients."""
import contextlib
import ctypes
import math

from ._arrays import current_stream, empty, is_torch, number, view
from ._library import CONTROL, OPERATORS, STORAGES, library

__all__ = ["run", "chosen", "wkv", "gla", "linear_attention", "attention", "wkv_backward", "gla_backward", "attention_backward"]
DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
ELEMENTS = {"float": "float32", "int64_t": "int64"}
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8}


def _sizes_of(member, is_packed, axes_of_log_w):
    """(axis, offset) for an array's axes; two arrays have a choice of axes."""
    if member.name in ("log_w", "d_log_w"):
        return _PER_HEAD if axes_of_log_w == 2 else _PER_STEP
    if member.axes and member.axes[0] == "B or sequences":
        return [("sequences" if is_packed else "B", 0), *member.sizes[1:]]
    return member.sizes


_PER_HEAD, _PER_STEP = [("H", 0), ("K", 0)], [("B", 0), ("T", 0), ("H", 0), ("K", 0)]


def _storage(operator, views):
    q = views.get("q")
    if q is None or q.dtype not in DTYPES:
        raise TypeError(f"q is {'missing' if q is None else q.dtype}; allowed: {', '.join(DTYPES)} (numpy: bfloat16 as uint16)")
    log_w = views.get("log_w")
    return "bf16_fp32_decay" if q.dtype == "bfloat16" and log_w is not None and log_w.dtype == "float32" else DTYPES[q.dtype]


def _refuse_shared(operator, views, sizes):
    """Rejects an output that shares memory with another array. A decoding step may update the state
    in place."""
    spans = [(name, each.pointer, each.pointer + math.prod(each.shape) * BYTES[each.dtype]) for name, each in views.items()]
    for output, begin, end in spans:
        if not operator.by_name[output].is_input:
            for name, other_begin, other_end in spans:
                is_state = (name, output, begin, sizes.get("T")) == ("initial_state", "final_state", other_begin, 1)
                if name != output and not is_state and max(begin, other_begin) < min(end, other_end):
                    raise ValueError(f"{output} shares memory with {name}; allowed: memory of its own")


def _prepared(name, values, stream):
    """(library, operator, its struct, the views that it points to)"""
    if name not in OPERATORS:
        raise ValueError(f"operator is {name!r}; allowed: {', '.join(OPERATORS)}")
    operator = OPERATORS[name]
    for given in values:
        if given not in operator.by_name or given in CONTROL:
            raise TypeError(f"{name} has no {given!r}; allowed: {', '.join(operator.given)}")
    views = {}
    for member in operator.arrays:
        value = values.get(member.name)
        if value is not None:
            views[member.name] = view(member.name, value, stream)
    storage = _storage(operator, views)
    args = operator.usual()
    args.storage = STORAGES[storage]

    stored, device, sizes = views["q"].dtype, views["q"].device, {}
    log_w_axes = len(views["log_w"].shape) if "log_w" in views else 0
    for each_name, each in views.items():
        member = operator.by_name[each_name]
        if each.device != device:
            raise ValueError(f"{each_name} lies on {each.device[0]} {each.device[1]}; allowed: {device[0]} {device[1]}, where q is")
        element = ELEMENTS.get(member.element) or ("float32" if storage == "bf16_fp32_decay" and each_name.endswith("log_w") else stored)
        if each.dtype != element:
            raise TypeError(f"{each_name} is {each.dtype}; allowed: {element}")
        if not each.is_contiguous:
            raise ValueError(f"{each_name} is not contiguous; allowed: row-major without gaps")
        if not (each.is_writable or member.is_input):
            raise ValueError(f"{each_name} may not be written; allowed: an output that may")
        axes = _sizes_of(member, "cu_seqlens" in views, log_w_axes)
        fits = len(axes) == len(each.shape)
        for (axis, more), size in zip(axes, each.shape):
            fits = fits and size >= more and sizes.setdefault(axis, size - more) == size - more
        if not fits:
            words = [axis + f" + {more}" * (more > 0) for axis, more in axes]
            allowed = ", ".join(f"{axis} = {sizes[axis]}" if axis in sizes else axis for axis in words)
            raise ValueError(f"{each_name} has shape {each.shape}; allowed: ({allowed})")
        setattr(args, each_name, each.pointer)
    for member in operator.numbers:
        value = sizes.get(member.name)
        if value is not None:
            setattr(args, member.name, value)
        elif values.get(member.name) is not None:
            value = number(member.name, values[member.name])
            setattr(args, member.name, value.encode() if isinstance(value, str) else int(value) if member.ctype != ctypes.c_float else float(value))
    if log_w_axes == 4:
        args.log_w_stride_T = sizes["H"] * sizes["K"]
        args.log_w_stride_B = sizes["T"] * args.log_w_stride_T
    if device[0] not in ("cpu", "cuda"):
        raise ValueError(f"q lies on {device[0]}; allowed: cpu, cuda")
    _refuse_shared(operator, views, sizes)
    if stream is None and device[0] == "cuda" and is_torch(views["q"].keeps):
        stream = current_stream(device[1])
    args.stream = stream
    return library("emulated" if device[0] == "cpu" else "cuda"), operator, args, views


def _on_device_of(views):
    """Makes the tensors' device the current one, if they are torch's."""
    tensor = views["q"].keeps
    if views["q"].device[0] == "cuda" and is_torch(tensor):
        import torch
        if torch.cuda.current_device() != tensor.device.index:
            return torch.cuda.device(tensor.device)
    return contextlib.nullcontext()


def run(operator, *, stream=None, **values):
    """Calls one function of kernel_ladder.h, "wkv" or another. `values` are its arrays, including
    outputs, and options, by the header's names. Sizes follow from the shapes. `stream` is a
    cudaStream_t as an int; None means torch's current stream, or the default stream."""
    lib, op, args, views = _prepared(operator, values, stream)
    with _on_device_of(views):
        needed = lib.workspace(op.name, args)
        if needed and is_torch(views["q"].keeps):
            # from torch's allocator, also while a graph is captured
            workspace = empty("q", views["q"].keeps, needed, "uint8")
            args.workspace, args.workspace_bytes = workspace.data_ptr(), needed
        lib.run(op.name, args)


def chosen(operator, **values):
    """The name of the kernel that run() would use for these values."""
    lib, op, args, views = _prepared(operator, values, None)
    with _on_device_of(views):
        return lib.choice(op.name, args)


def _sizes(x, *axes):
    """The sizes of these axes of an array. 0 for a missing axis, which run() then rejects by
    name."""
    shape = getattr(x, "shape", ())
    return tuple(shape[axis] if axis < len(shape) else 0 for axis in axes)


def _states(q, k, v, cu_seqlens):
    sequences = _sizes(q, 0) if cu_seqlens is None else (max(_sizes(cu_seqlens, 0)[0] - 1, 0),)
    return (*sequences, *_sizes(q, 2), *_sizes(k, 3), *_sizes(v, 3))


def wkv(q, k, v, log_w, u, *, initial_state=None, output_final_state=False, cu_seqlens=None, scale=1.0, reverse=False, **options):
    """(o, final_state or None) of RWKV-5/6. log_w: (B, T, H, K), or (H, K); options: choice,
    batch_invariant."""
    o = empty("v", v, has_gaps=cu_seqlens is not None)
    final_state = empty("v", v, _states(q, k, v, cu_seqlens), "float32") if output_final_state else None
    run("gla" if u is None else "wkv", q=q, k=k, v=v, log_w=log_w, u=u, initial_state=initial_state, cu_seqlens=cu_seqlens, o=o,
        final_state=final_state, scale=scale, reverse=reverse, **options)
    return o, final_state


def gla(q, k, v, log_w, **options):
    """(o, final_state or None) of gated linear attention; log_w is its log gate. Options as for
    wkv."""
    return wkv(q, k, v, log_w, None, **options)


def wkv_backward(q, k, v, log_w, u, d_o, *, initial_state=None, d_final_state=None, scale=1.0, reverse=False, **options):
    """{"dq": ..., "dk", "dv", "d_log_w", "du", "d_initial_state"}. The last two exist if there are
    u and an initial state."""
    gradients = {"dq": empty("q", q), "dk": empty("k", k), "dv": empty("v", v), "d_log_w": empty("log_w", log_w)}
    if u is not None:
        gradients["du"] = empty("u", u, dtype="float32")
    if initial_state is not None:
        gradients["d_initial_state"] = empty("initial_state", initial_state)
    run("gla_backward" if u is None else "wkv_backward", q=q, k=k, v=v, log_w=log_w, u=u, initial_state=initial_state, d_o=d_o,
        d_final_state=d_final_state, scale=scale, reverse=reverse, **gradients, **options)
    return gradients


def gla_backward(q, k, v, log_w, d_o, **options):
    """See wkv_backward."""
    return wkv_backward(q, k, v, log_w, None, d_o, **options)


def linear_attention(q, k, v, *, key_lengths=None, causal=True, feature_map="elu_plus_one", normalize=True, eps=1e-6, **options):
    """o of linear attention. feature_map: "elu_plus_one" or "identity"."""
    maps = {"identity": 0, "elu_plus_one": 1}
    if feature_map not in maps:
        raise ValueError(f"feature_map is {feature_map!r}; allowed: {', '.join(maps)}")
    o = empty("v", v, (*_sizes(q, 0, 1, 2), *_sizes(v, 3)))
    run("linear_attention", q=q, k=k, v=v, key_lengths=key_lengths, o=o, causal=causal, feature_map=maps[feature_map], normalize=normalize, eps=eps,
        **options)
    return o


def _usual_scale(q):
    return max(1, *_sizes(q, 3)) ** -0.5


def attention(q, k, v, *, causal=False, scale=None, window=0, softcap=0.0, key_lengths=None, cu_seqlens_q=None, cu_seqlens_k=None, **options):
    """(o, lse) of softmax attention. scale None: 1 / sqrt(D). window: the most keys that a query
    sees, including its own; 0: all. v and o may have another number of channels than q and k."""
    is_packed = cu_seqlens_q is not None
    o = empty("q", q, (*_sizes(q, 0, 1, 2), *_sizes(v, 3)), None, is_packed)
    lse = empty("q", q, _sizes(q, 0, 2, 1), "float32", is_packed)
    run("attention", q=q, k=k, v=v, key_lengths=key_lengths, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, o=o, lse=lse, causal=causal,
        scale=_usual_scale(q) if scale is None else scale, window=window, softcap=softcap, **options)
    return o, lse


def attention_backward(q, k, v, o, lse, d_o, *, causal=False, scale=None, window=0, softcap=0.0, key_lengths=None, cu_seqlens_q=None, cu_seqlens_k=None,
                       **options):
    """(dq, dk, dv), with the forward pass's options."""
    gradients = {f"d{name}": empty(name, x, has_gaps=cu_seqlens_q is not None) for name, x in (("q", q), ("k", k), ("v", v))}
    run("attention_backward", q=q, k=k, v=v, key_lengths=key_lengths, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, o=o, lse=lse, d_o=d_o,
        causal=causal, scale=_usual_scale(q) if scale is None else scale, window=window, softcap=softcap, **gradients, **options)
    return tuple(gradients.values())
