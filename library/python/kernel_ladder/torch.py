"""The kernels for PyTorch, with gradients: the names, defaults and layouts that users of FLA
(flash-linear-attention) and of scaled_dot_product_attention have. Tensors are (B, T, H, K) and (B,
T, H, V), states float32 (N, H, K, V). Tensors on a GPU are computed on torch's current stream.

What is not contiguous is copied. Options beyond FLA's: choice (a kernel's name) and
batch_invariant. On torch 2.4 and newer the operators are torch.library.custom_op with fake kernels,
for torch.compile(fullgraph=True). Gradients are computed in reverse mode and once: gradients of
gradients, forward mode and vmap are refused."""
import torch
from torch import Tensor

from . import run
from ._arrays import number

__all__ = ["chunk_gla", "chunk_linear_attn", "chunk_rwkv6", "fused_chunk_linear_attn",
           "fused_recurrent_gla", "fused_recurrent_linear_attn", "fused_recurrent_rwkv6",
           "scaled_dot_product_attention"]
FLOATS = (torch.float32, torch.bfloat16, torch.float16)


def _refuse(condition, sentence):
    if condition:
        raise ValueError(sentence)


def _refuse_others(or_none, **arrays):
    """Rejects arguments that are not tensors, by the caller's name."""
    for name, x in arrays.items():
        if not isinstance(x, Tensor) and not (or_none and x is None):
            raise TypeError(f"{name} is a {type(x).__name__}; allowed: a torch tensor"
                            + " or None" * or_none)


# ---- The operators as functions of tensors only, as autograd and torch.compile see them ----

def _bounds(cu_seqlens, T):
    """The bounds on the host, which waits for them."""
    bounds = cu_seqlens.tolist()
    _refuse(bounds != sorted(bounds) or bounds[0] != 0 or bounds[-1] != T, f"cu_seqlens is {bounds}; allowed: from 0 to {T}, which is T, never falling")
    return bounds


def _options(choice, batch_invariant):
    return {"choice": choice or None, "batch_invariant": batch_invariant}


def _recurrence(q: Tensor, k: Tensor, v: Tensor, log_w: Tensor, u: Tensor | None, initial_state: Tensor | None, cu_seqlens: Tensor | None,
                scale: float, reverse: bool, with_state: bool, choice: str, batch_invariant: bool) -> tuple[Tensor, Tensor]:
    """o, final_state; the latter is empty if not wanted."""
    o, final_state = _recurrence_like(q, k, v, log_w, u, initial_state, cu_seqlens, scale, reverse, with_state)
    run("gla" if u is None else "wkv", q=q, k=k, v=v, log_w=log_w, u=u, initial_state=initial_state, cu_seqlens=cu_seqlens, o=o,
        final_state=final_state if with_state else None, scale=scale, reverse=reverse, **_options(choice, batch_invariant))
    return o, final_state


def _recurrence_like(q, k, v, log_w, u, initial_state, cu_seqlens, scale, reverse, with_state, *options):
    sequences = q.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    # on a GPU nothing checks that each row has a sequence
    o = torch.empty_like(v) if cu_seqlens is None else torch.zeros_like(v)
    return o, v.new_empty((sequences, q.shape[2], q.shape[3], v.shape[3]) if with_state else 0, dtype=torch.float32)


def _recurrence_backward(q: Tensor, k: Tensor, v: Tensor, log_w: Tensor, u: Tensor | None, initial_state: Tensor | None,
                         cu_seqlens: Tensor | None, d_o: Tensor, d_final_state: Tensor, scale: float,
                         reverse: bool) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """dq, dk, dv, d_log_w, du, d_initial_state; the last two are empty without u and without an
    initial state."""
    gradients = dq, dk, dv, d_log_w, du, d_state = _recurrence_backward_like(q, k, v, log_w, u, initial_state)
    name = "gla_backward" if u is None else "wkv_backward"
    options = {"u": u, "scale": scale, "reverse": reverse}
    if d_final_state.numel() == 0:
        d_final_state = None
    if cu_seqlens is None:
        run(name, q=q, k=k, v=v, log_w=log_w, initial_state=initial_state, d_o=d_o, d_final_state=d_final_state, dq=dq, dk=dk, dv=dv, d_log_w=d_log_w,
            du=None if u is None else du, d_initial_state=None if initial_state is None else d_state, **options)
        return gradients
    # The kernel accepts one sequence per batch, so the sequences are computed one at a time, and
    # the host waits for their lengths. Gradients of shared inputs, du and RWKV-5's d_log_w, are
    # added up.
    per_head = log_w.dim() == 2
    sums = [du, *[d_log_w] * per_head]
    parts = [torch.empty_like(x) for x in sums]
    for x in sums:
        x.zero_()
    bounds = _bounds(cu_seqlens, q.shape[1])
    for n, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        tokens, own = slice(begin, end), slice(n, n + 1)
        run(name, **{each: x[:, tokens] for each, x in (("q", q), ("k", k), ("v", v), ("d_o", d_o), ("dq", dq), ("dk", dk), ("dv", dv))},
            log_w=log_w if per_head else log_w[:, tokens], d_log_w=parts[1] if per_head else d_log_w[:, tokens], du=None if u is None else parts[0],
            initial_state=None if initial_state is None else initial_state[own], d_final_state=None if d_final_state is None else d_final_state[own],
            d_initial_state=None if initial_state is None else d_state[own], **options)
        for x, part in zip(sums, parts):
            x += part
    return gradients


def _recurrence_backward_like(q, k, v, log_w, u, initial_state, *rest):
    nothing = v.new_empty(0, dtype=torch.float32)
    return (torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), torch.empty_like(log_w),
            nothing if u is None else torch.empty_like(u, dtype=torch.float32), torch.empty_like(nothing if initial_state is None else initial_state))


def _attention(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float, choice: str, batch_invariant: bool) -> tuple[Tensor, Tensor]:
    o, lse = _attention_like(q, k, v)
    run("attention", q=q, k=k, v=v, o=o, lse=lse, causal=causal, scale=scale, **_options(choice, batch_invariant))
    return o, lse


def _attention_like(q, k, v, *options):
    return q.new_empty((*q.shape[:3], v.shape[3])), q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)


def _attention_backward(q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, d_o: Tensor, causal: bool, scale: float,
                        batch_invariant: bool) -> tuple[Tensor, Tensor, Tensor]:
    gradients = _attention_backward_like(q, k, v)
    run("attention_backward", q=q, k=k, v=v, o=o, lse=lse, d_o=d_o, **dict(zip(("dq", "dk", "dv"), gradients)), causal=causal, scale=scale,
        batch_invariant=batch_invariant)
    return gradients


def _attention_backward_like(q, k, v, *rest):
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


# ---- Their gradients ----

def _keep_recurrence(ctx, inputs, output):
    *tensors, ctx.scale, ctx.reverse, _, _, _ = inputs
    ctx.save_for_backward(*tensors)


def _recurrence_gradients(ctx, d_o, d_final_state):
    q, k, v, log_w, u, initial_state, cu_seqlens = ctx.saved_tensors
    dq, dk, dv, d_log_w, du, d_state = recurrence_backward(q, k, v, log_w, u, initial_state, cu_seqlens, d_o.contiguous(), d_final_state.contiguous(),
                                                           ctx.scale, ctx.reverse)
    return (dq, dk, dv, d_log_w, None if u is None else du.to(u.dtype), None if initial_state is None else d_state, None, None, None, None, None, None)


def _keep_attention(ctx, inputs, output):
    q, k, v, ctx.causal, ctx.scale, _, ctx.batch_invariant = inputs
    ctx.save_for_backward(q, k, v, *output)
    ctx.mark_non_differentiable(output[1])


def _attention_gradients(ctx, d_o, d_lse):
    return (*attention_backward(*ctx.saved_tensors, d_o.contiguous(), ctx.causal, ctx.scale, ctx.batch_invariant), None, None, None, None)


def _keep_nothing(ctx, inputs, output):
    pass


def _no_gradients(ctx, *d_outputs):
    raise RuntimeError("kernel_ladder.torch has no gradients of gradients: what was made with create_graph=True allows no further derivative")


def _is_compiling():
    return hasattr(torch, "compiler") and torch.compiler.is_compiling()


def _operator(name, function, like, keep=_keep_nothing, gradients=_no_gradients):
    """The function with its gradients, or with an error instead of gradients of gradients, because
    autograd's once_differentiable loses them if only saved tensors need a gradient. If torch must
    see an operator, for compiling and for other kinds of tensors, this is
    torch.ops.kernel_ladder.NAME (from torch 2.4 on). Otherwise it is autograd's own function or the
    plain function, which are faster."""
    custom = None
    if hasattr(torch.library, "custom_op"):
        custom = torch.library.custom_op(f"kernel_ladder::{name}", function, mutates_args=())
        custom.register_fake(like)
        custom.register_autograd(gradients, setup_context=keep)

    class Differentiable(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            output = function(*inputs)
            keep(ctx, inputs, output)
            return output

        backward = staticmethod(gradients)

    def call(*arguments):
        tensors = [x for x in arguments if isinstance(x, Tensor)]
        if custom is not None and (_is_compiling() or torch.jit.is_tracing() or any(type(x) not in PLAIN for x in tensors)):
            return custom(*arguments)
        if torch.jit.is_tracing():
            raise RuntimeError(f"torch.jit.trace does not see {name}; allowed: torch 2.4 and newer, this is {torch.__version__}")
        if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            return Differentiable.apply(*arguments)
        return function(*arguments)

    return call


PLAIN = (Tensor, torch.nn.Parameter)
recurrence_backward = _operator("recurrence_backward", _recurrence_backward, _recurrence_backward_like)
recurrence = _operator("recurrence", _recurrence, _recurrence_like, _keep_recurrence, _recurrence_gradients)
attention_backward = _operator("attention_backward", _attention_backward, _attention_backward_like)
attention = _operator("attention", _attention, _attention_like, _keep_attention, _attention_gradients)


def _scale(scale, channels):
    return float(channels ** -0.5 if scale is None else number("scale", scale))


# ---- FLA's names ----

def _fla(q, k, v, log_w, u, scale, initial_state, output_final_state, cu_seqlens, reverse, choice, batch_invariant):
    _refuse(q.dim() != 4 or q.shape != k.shape or v.dim() != 4 or v.shape[:3] != k.shape[:3],
            f"q, k, v have shapes {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}; allowed: (B, T, H, K) twice, and (B, T, H, V)")
    _refuse(q.dtype not in FLOATS, f"q is {q.dtype}; allowed: {', '.join(map(str, FLOATS))}")
    _refuse(cu_seqlens is not None and q.shape[0] != 1, f"B is {q.shape[0]}; cu_seqlens allows only 1, all sequences in one")
    if initial_state is not None:
        initial_state = initial_state.float().contiguous()
    if cu_seqlens is not None:
        is_tensor = isinstance(cu_seqlens, Tensor)
        what = f"{cu_seqlens.dtype}, {tuple(cu_seqlens.shape)}" if is_tensor else f"a {type(cu_seqlens).__name__}"
        _refuse(not is_tensor or cu_seqlens.dtype not in (torch.int32, torch.int64) or cu_seqlens.dim() != 1 or cu_seqlens.shape[0] == 0,
                f"cu_seqlens is {what}; allowed: a tensor of int32 or int64, (sequences + 1)")
        cu_seqlens = cu_seqlens.long().contiguous()
    storage = q.dtype
    if storage == torch.float16:  # no kernel computes their gradients
        q, k, v, log_w = (x.float() for x in (q, k, v, log_w))
    if u is not None:
        u = u.to(q.dtype).contiguous()
    tensors = (q.contiguous(), k.contiguous(), v.contiguous(), log_w.contiguous(), u, initial_state, cu_seqlens)
    o, final_state = recurrence(*tensors, _scale(scale, k.shape[-1]), reverse, output_final_state, choice or "",
                                batch_invariant)
    return o.to(storage), final_state if output_final_state else None


def fused_recurrent_rwkv6(r, k, v, w, u, scale=None, initial_state=None, output_final_state=False, reverse=False, cu_seqlens=None, *, choice=None,
                          batch_invariant=False):
    """(o, final_state or None). w: log decays, (B, T, H, K), or (H, K) for RWKV-5. scale None: 1 /
    sqrt(K); RWKV's own is 1."""
    _refuse_others(False, r=r, k=k, v=v, w=w)
    _refuse_others(True, u=u, initial_state=initial_state)
    return _fla(r, k, v, w, u, scale, initial_state, output_final_state, cu_seqlens, reverse, choice, batch_invariant)


def chunk_rwkv6(r, k, v, w, u, scale=None, initial_state=None, output_final_state=False, cu_seqlens=None, cu_seqlens_cpu=None, *, chunk_size=None,
                choice=None, batch_invariant=False):
    """The same as fused_recurrent_rwkv6, because the rules choose chunks or the recurrence,
    whichever is faster. cu_seqlens_cpu and chunk_size change nothing."""
    _refuse_others(False, r=r, k=k, v=v, w=w)
    _refuse_others(True, u=u, initial_state=initial_state)
    return _fla(r, k, v, w, u, scale, initial_state, output_final_state, cu_seqlens, False, choice, batch_invariant)


def fused_recurrent_gla(q, k, v, gk=None, gv=None, scale=None, initial_state=None, output_final_state=False, reverse=False, state_v_first=False,
                        cu_seqlens=None, *, choice=None, batch_invariant=False):
    """(o, final_state or None). gk: log gates, (B, T, H, K); without them nothing decays.
    state_v_first: states are (N, H, V, K), and copied."""
    _refuse_others(False, q=q, k=k, v=v)
    _refuse_others(True, gk=gk, initial_state=initial_state)
    _refuse(gv is not None, "gv is given; allowed: None, gates on values are not there")
    if gk is None:
        gk = k.new_zeros(k.shape[2:])
    if state_v_first and initial_state is not None:
        initial_state = initial_state.transpose(-1, -2)
    o, final_state = _fla(q, k, v, gk, None, scale, initial_state, output_final_state, cu_seqlens, reverse, choice, batch_invariant)
    if state_v_first and output_final_state:
        final_state = final_state.transpose(-1, -2).contiguous()
    return o, final_state


def chunk_gla(q, k, v, g, scale=None, initial_state=None, output_final_state=False, state_v_first=False, cu_seqlens=None, cu_seqlens_cpu=None, *,
              choice=None, batch_invariant=False):
    """The same as fused_recurrent_gla; g are its gk. cu_seqlens_cpu changes nothing."""
    _refuse_others(True, g=g)
    return fused_recurrent_gla(q, k, v, g, None, scale, initial_state, output_final_state, False, state_v_first, cu_seqlens, choice=choice,
                               batch_invariant=batch_invariant)


def _sums_of_keys(k, before, reverse, cu_seqlens):
    """(the running sum of keys in each row, the sums in the last rows). Packed sequences are summed
    one at a time, and the host waits for their lengths."""
    if cu_seqlens is not None:
        bounds = _bounds(cu_seqlens, k.shape[1])
        parts = [_sums_of_keys(k[:, begin:end], None if before is None else before[n:n + 1], reverse, None)
                 for n, (begin, end) in enumerate(zip(bounds, bounds[1:]))]
        return tuple(torch.cat(each, dim) for each, dim in zip(zip(*parts), (1, 0)))
    before = k.new_zeros(()) if before is None else before
    sums = (k.flip(1).cumsum(1).flip(1) if reverse else k.cumsum(1)) + before
    if k.shape[1] == 0:
        return sums, before.expand(k.shape[0], 1, *k.shape[2:])
    return sums, sums[:, :1] if reverse else sums[:, -1:]


def fused_recurrent_linear_attn(q, k, v, scale=None, initial_state=None, output_final_state=False, reverse=False, normalize=False, cu_seqlens=None, *,
                                choice=None, batch_invariant=False):
    """(o, final_state or None) of causal linear attention, with the caller's feature map: GLA
    without decay. With normalize a state is a pair: (N, H, K, V), and the sum of the keys, (N, 1,
    H, K)."""
    _refuse_others(False, q=q, k=k, v=v)
    state, sums = initial_state, None
    if isinstance(initial_state, tuple):
        _refuse(len(initial_state) != 2, f"initial_state is a tuple of {len(initial_state)}; "
                "allowed: a torch tensor or None, or two of them")
        state, sums = initial_state
        _refuse_others(True, **{"initial_state[1]": sums})
    o, final_state = fused_recurrent_gla(q, k, v, None, None, scale, state, output_final_state, reverse, False, cu_seqlens, choice=choice,
                                         batch_invariant=batch_invariant)
    if not normalize:
        return o, final_state
    scale = _scale(scale, k.shape[-1])
    so_far, last = _sums_of_keys(k.float(), sums, reverse, cu_seqlens)
    o = (o / ((q * scale * so_far).sum(-1, keepdim=True) + 1e-10)).to(o.dtype)
    return o, (final_state, last) if output_final_state else None


def chunk_linear_attn(q, k, v, scale=None, initial_state=None, output_final_state=False, normalize=True, cu_seqlens=None, *, choice=None,
                      batch_invariant=False):
    """The same as fused_recurrent_linear_attn."""
    return fused_recurrent_linear_attn(q, k, v, scale, initial_state, output_final_state, False, normalize, cu_seqlens, choice=choice,
                                       batch_invariant=batch_invariant)


fused_chunk_linear_attn = chunk_linear_attn


# ---- PyTorch's ----

def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, *, choice=None,
                                 batch_invariant=False):
    """o of softmax attention. Tensors are (B, H, T, D), as in PyTorch. Views of (B, T, H, D),
    x.transpose(1, 2), are used directly, and others are copied. D as for `attention`; value may
    have another D than query and key."""
    _refuse_others(False, query=query, key=key, value=value)
    _refuse(attn_mask is not None, "attn_mask is given; allowed: None, or is_causal")
    _refuse(dropout_p != 0.0, f"dropout_p is {dropout_p}; allowed: 0")
    _refuse(query.dim() != 4 or key.dim() != 4 or key.shape[:3] != value.shape[:3] or query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3],
            f"query, key, value have shapes {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}; allowed: (B, H, T, D)")
    _refuse(is_causal and query.shape[2] != key.shape[2],
            f"is_causal with {query.shape[2]} queries and {key.shape[2]} keys; allowed: as many (PyTorch aligns the first of them, this kernel the last)")
    _refuse(not enable_gqa and query.shape[1] != key.shape[1], f"query has {query.shape[1]} heads and key {key.shape[1]}; allowed with enable_gqa only")
    q, k, v = (x.transpose(1, 2).contiguous() for x in (query, key, value))
    o, _ = attention(q, k, v, is_causal, _scale(scale, q.shape[-1]), choice or "", batch_invariant)
    return o.transpose(1, 2)
