"""Tests kernel_ladder.torch on the CPU in the emulator, or with KERNEL_LADDER_DEVICE=cuda on the
GPU: results and gradients against autograd through a loop in float64."""
import os
import unittest

import torch

import kernel_ladder
import kernel_ladder.torch as kt

HAS_CUSTOM_OP = hasattr(torch.library, "custom_op")
DEVICE = os.environ.get("KERNEL_LADDER_DEVICE") or "cpu"
# for torch.compile; inductor on a CPU takes half a minute of g++
BACK_END = {"cpu": "aot_eager", "cuda": "inductor"}[DEVICE]


def drawn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype).to(DEVICE)


def recurrence(q, k, v, log_w, u, state, scale, reverse=False):
    """(o, the last state) in the tensors' own type; u None: GLA."""
    rows = [None] * q.shape[1]
    for t in reversed(range(q.shape[1])) if reverse else range(q.shape[1]):
        kv = k[:, t, :, :, None] * v[:, t, :, None, :]
        decay = torch.exp(log_w if log_w.dim() == 2 else log_w[:, t])[..., None]
        read = state + u[..., None] * kv if u is not None else decay * state + kv
        rows[t] = scale * (q[:, t, :, None] @ read).squeeze(-2)
        state = decay * state + kv
    return torch.stack(rows, 1), state


def softmax_attention(q, k, v, causal, scale):
    """(B, H, T, D), with grouped heads."""
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = scale * q @ k.transpose(-1, -2)
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1), float("-inf"))
    return torch.softmax(scores, -1) @ v


def grown(x):
    """A leaf, which needs a gradient if x may have one."""
    return x.clone().requires_grad_() if x is not None and x.is_floating_point() else x


class InDouble(unittest.TestCase):
    def assert_close(self, mine, right, bound, what=""):
        error = float((mine.double() - right.double()).norm() / right.double().norm().clamp_min(1e-30))
        self.assertLess(error, bound, what)  # false for NaN

    def compare(self, ours, theirs, leaves, bound):
        """Compares two functions of the leaves that return tensors: values, and gradients of a
        random combination of them."""
        mine = {name: x.clone().requires_grad_() for name, x in leaves.items()}
        right = {name: x.double().requires_grad_() for name, x in leaves.items()}
        outputs, truths = ours(**mine), theirs(**right)
        weights = [drawn(*x.shape, seed=90 + i) for i, x in enumerate(truths)]
        for i, (x, y) in enumerate(zip(outputs, truths, strict=True)):
            self.assert_close(x.detach(), y.detach(), bound, f"output {i}")
        sum((x.float() * w).sum() for x, w in zip(outputs, weights)).backward()
        sum((x * w).sum() for x, w in zip(truths, weights)).backward()
        for name in leaves:
            self.assertEqual(mine[name].grad.dtype, leaves[name].dtype)
            self.assert_close(mine[name].grad, right[name].grad, 3 * bound, f"gradient of {name}")


def leaves_of(B=2, T=70, H=2, K=20, V=12, dtype=torch.float32, log_w_dtype=None, per_head=False, u=True):
    x = {"q": drawn(B, T, H, K, seed=1, dtype=dtype), "k": drawn(B, T, H, K, seed=2, dtype=dtype), "v": drawn(B, T, H, V, seed=3, dtype=dtype),
         "log_w": -torch.exp(drawn(*((H, K) if per_head else (B, T, H, K)), seed=4) - 2).to(log_w_dtype or dtype)}
    if u:
        x["u"] = drawn(H, K, seed=5, dtype=dtype)
    x["state"] = drawn(B, H, K, V, seed=6)
    return x


class FlaNames(InDouble):
    BOUND = {torch.float32: 2e-6, torch.bfloat16: 2e-2}

    def test_rwkv6_and_its_gradients(self):
        for function in (kt.chunk_rwkv6, kt.fused_recurrent_rwkv6):
            for dtype, log_w_dtype, per_head in ((torch.float32, None, False), (torch.float32, None, True), (torch.bfloat16, None, False),
                                                 (torch.bfloat16, torch.float32, False)):
                with self.subTest(function=function.__name__, dtype=dtype, log_w_dtype=log_w_dtype, per_head=per_head):
                    self.compare(lambda q, k, v, log_w, u, state: function(q, k, v, log_w, u, initial_state=state, output_final_state=True),
                                 lambda q, k, v, log_w, u, state: recurrence(q, k, v, log_w, u, state, 20 ** -0.5),
                                 leaves_of(dtype=dtype, log_w_dtype=log_w_dtype, per_head=per_head), self.BOUND[dtype])

    def test_gla_and_its_gradients(self):
        self.compare(lambda q, k, v, log_w, state: kt.chunk_gla(q, k, v, log_w, 0.5, state, True),
                     lambda q, k, v, log_w, state: recurrence(q, k, v, log_w, None, state, 0.5), leaves_of(u=False), 2e-6)
        self.compare(lambda q, k, v, log_w, state: kt.fused_recurrent_gla(q, k, v, log_w, scale=1, initial_state=state, output_final_state=True,
                                                                          reverse=True),
                     lambda q, k, v, log_w, state: recurrence(q, k, v, log_w, None, state, 1.0, True), leaves_of(u=False), 2e-6)

    def test_linear_attention_and_its_gradients(self):
        x = leaves_of(u=False)
        x = {name: x[name].abs() if name in "qk" else x[name] for name in ("q", "k", "v")}

        def right(q, k, v, normalize):
            weights = (20 ** -0.5 * torch.einsum("bthk,bshk->bhts", q, k)).tril()
            if normalize:
                weights = weights / (weights.sum(-1, keepdim=True) + 1e-10)
            return torch.einsum("bhts,bshv->bthv", weights, v),
        for function in (kt.chunk_linear_attn, kt.fused_chunk_linear_attn, kt.fused_recurrent_linear_attn):
            for normalize in (False, True):
                self.compare(lambda q, k, v: function(q, k, v, normalize=normalize)[:1], lambda q, k, v: right(q, k, v, normalize), x, 2e-6)

    def test_linear_attention_goes_on_where_it_stopped(self):
        """The normaliser's state is the sum of the keys. Each packed sequence has its own."""
        x = leaves_of(B=1, u=False)
        q, k, v = x["q"].abs(), x["k"].abs(), x["v"]

        def part(begin, end, state, **options):
            return kt.fused_recurrent_linear_attn(*(each[:, begin:end] for each in (q, k, v)), initial_state=state, output_final_state=True,
                                                  normalize=True, **options)
        for reverse in (False, True):
            whole, (state, sums) = part(0, 70, None, reverse=reverse)
            pieces, before = [], None
            for begin, end in [(0, 30), (30, 70)][::-1 if reverse else 1]:
                o, before = part(begin, end, before, reverse=reverse)
                pieces.append(o)
            self.assert_close(torch.cat(pieces[::-1] if reverse else pieces, 1), whole, 2e-6)
            self.assert_close(before[0], state, 2e-6)
            self.assert_close(before[1], sums, 2e-6)
        packed, (states, sums) = part(0, 70, None, cu_seqlens=torch.tensor([0, 30, 70], device=DEVICE))
        for n, (begin, end) in enumerate(((0, 30), (30, 70))):
            o, (state, last) = part(begin, end, None)
            self.assert_close(packed[:, begin:end], o, 2e-6)
            self.assert_close(states[n:n + 1], state, 2e-6)
            self.assert_close(sums[n:n + 1], last, 2e-6)

    def test_fp16_is_computed_in_fp32(self):
        x = {name: value if name == "state" else value.half() for name, value in leaves_of().items()}
        self.compare(lambda q, k, v, log_w, u, state: kt.chunk_rwkv6(q, k, v, log_w, u, initial_state=state, output_final_state=True),
                     lambda q, k, v, log_w, u, state: recurrence(q, k, v, log_w, u, state, 20 ** -0.5), x, 6e-4)
        self.assertEqual(kt.chunk_gla(x["q"], x["k"], x["v"], x["log_w"])[0].dtype, torch.float16)

    def test_states_may_be_v_first(self):
        x = leaves_of(u=False)
        o, state = kt.chunk_gla(x["q"], x["k"], x["v"], x["log_w"], None, x["state"], True)
        turned = kt.chunk_gla(x["q"], x["k"], x["v"], x["log_w"], None, x["state"].transpose(-1, -2), True, state_v_first=True)
        self.assertTrue(torch.equal(turned[0], o))
        self.assertTrue(torch.equal(turned[1].transpose(-1, -2), state))

    def test_packed_sequences_and_their_gradients(self):
        x = leaves_of(B=1)
        bounds = [0, 17, 17, 70]
        x["state"] = drawn(3, 2, 20, 12, seed=6)

        def right(q, k, v, log_w, u, state):
            parts = []
            for n, (begin, end) in enumerate(zip(bounds, bounds[1:])):
                if begin == end:
                    parts.append((q.new_zeros((1, 0, 2, 12)), state[n:n + 1]))
                else:
                    parts.append(recurrence(*(each[:, begin:end] for each in (q, k, v, log_w)), u, state[n:n + 1], 1.0))
            return torch.cat([o for o, _ in parts], 1), torch.cat([last for _, last in parts])
        self.compare(lambda q, k, v, log_w, u, state: kt.chunk_rwkv6(q, k, v, log_w, u, 1.0, state, True, cu_seqlens=torch.tensor(bounds, device=DEVICE)), right, x,
                     2e-6)

    def test_each_row_has_a_sequence(self):
        """Wrong bounds on the host are rejected. On a GPU only the gradients' bounds are checked,
        and other rows of o are 0."""
        x = leaves_of(B=1, u=False)
        for bounds in ([0, 17, 17, 50], [0, 40, 17, 70], [5, 70]):
            def call(function, q):
                return function(q, x["k"], x["v"], cu_seqlens=torch.tensor(bounds, device=DEVICE))[0]
            with self.assertRaisesRegex(ValueError, "cu_seqlens"):
                call(kt.chunk_linear_attn, x["q"])
            with self.assertRaisesRegex(ValueError, "cu_seqlens"):
                o = call(kt.fused_recurrent_linear_attn, x["q"].clone().requires_grad_())
                self.assertFalse(o[:, bounds[-1]:].any() or o[:, :bounds[0]].any())
                o.sum().backward()
        for bounds, what in (([0, 70], "a list"), (torch.tensor([0.0, 70.9]), "torch.float32"), (torch.tensor(70), r"torch.int64, \(\)"),
                             (torch.tensor([], dtype=torch.int32), r"torch.int32, \(0,\)")):
            with self.assertRaisesRegex(ValueError, f"cu_seqlens is {what}.*; allowed: a tensor of int32 or int64"):
                kt.chunk_gla(x["q"], x["k"], x["v"], x["log_w"], cu_seqlens=bounds)

    def test_what_is_not_contiguous_is_copied(self):
        x = leaves_of()
        del x["state"]
        o, none = kt.chunk_rwkv6(x["q"], x["k"], x["v"], x["log_w"], x["u"])
        self.assertIsNone(none)
        strided = {name: torch.stack((each, each), -1)[..., 0] for name, each in x.items()}
        self.assertFalse(strided["q"].is_contiguous())
        self.assertTrue(torch.equal(o, kt.chunk_rwkv6(strided["q"], strided["k"], strided["v"], strided["log_w"], strided["u"])[0]))

    def test_what_is_wrong_is_refused_with_a_sentence(self):
        x = leaves_of()
        del x["state"]
        right = (x["q"], x["k"], x["v"], x["log_w"], x["u"])
        for place, value, sentence in ((0, x["q"].double(), "q is torch.float64; allowed: torch.float32, torch.bfloat16, torch.float16"),
                                       (1, x["k"][:, :-1], r"q, k, v have shapes .*; allowed: \(B, T, H, K\) twice"),
                                       (2, x["v"][0], "q, k, v have shapes"), (3, x["log_w"][:, :-1], r"log_w has shape \(2, 69, 2, 20\); allowed: \(B = 2, T = 70"),
                                       (4, x["u"][:, :-1], r"u has shape \(2, 19\); allowed: \(H = 2, K = 20\)")):
            with self.subTest(sentence=sentence), self.assertRaisesRegex(ValueError, sentence):
                kt.chunk_rwkv6(*right[:place], value, *right[place + 1:])
        for options, error, sentence in (({"choice": "attention_pipelined"}, ValueError, "choice is 'attention_pipelined'; allowed for this operator in fp32"),
                                         ({"cu_seqlens": torch.tensor([0, 70])}, ValueError, "B is 2; cu_seqlens allows only 1")):
            with self.assertRaisesRegex(error, sentence):
                kt.chunk_rwkv6(*right, **options)
        with self.assertRaisesRegex(TypeError, "log_w is float64; allowed: float32"):
            kt.chunk_rwkv6(*right[:3], x["log_w"].double(), x["u"])
        if not HAS_CUSTOM_OP:  # if there is one, its fake kernel accepts them
            with self.assertRaisesRegex(ValueError, "q lies on meta"):
                kt.chunk_rwkv6(*(each.to("meta") for each in right))
            with self.assertRaisesRegex(ValueError, f"k lies on {DEVICE} 0; allowed: meta 0, where q is"):
                kt.chunk_rwkv6(x["q"].to("meta"), *right[1:])
        with self.assertRaisesRegex(ValueError, "gv is given"):
            kt.fused_recurrent_gla(*right[:4], x["v"])


class Sdpa(InDouble):
    def test_attention_and_its_gradients(self):
        for dtype, D, heads, T_k, causal, bound in ((torch.float32, 32, (2, 2), 50, True, 2e-6), (torch.bfloat16, 64, (4, 2), 70, False, 2e-2),
                                                    (torch.float16, 64, (2, 1), 50, True, 3e-3)):
            with self.subTest(dtype=dtype, D=D, causal=causal):
                x = {"q": drawn(2, heads[0], 50, D, seed=1, dtype=dtype), "k": drawn(2, heads[1], T_k, D, seed=2, dtype=dtype),
                     "v": drawn(2, heads[1], T_k, D, seed=3, dtype=dtype)}
                self.compare(lambda q, k, v: (kt.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads[0] != heads[1]),),
                             lambda q, k, v: (softmax_attention(q, k, v, causal, D ** -0.5),), x, bound)

    def test_values_may_have_another_number_of_channels(self):
        q, k, v = (drawn(*shape, seed=seed, dtype=torch.bfloat16) for seed, shape in enumerate(((2, 4, 20, 64), (2, 2, 70, 64), (2, 2, 70, 40))))
        o = kt.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        self.assertEqual(tuple(o.shape), (2, 4, 20, 40))
        self.assert_close(o, softmax_attention(q.double(), k.double(), v.double(), False, 64 ** -0.5), 2e-2)

    def test_a_view_of_b_t_h_d_is_taken_as_it_is(self):
        x = drawn(2, 30, 3, 32)
        view = x.transpose(1, 2)
        o = kt.scaled_dot_product_attention(view, view, view)
        self.assertTrue(o.transpose(1, 2).is_contiguous())
        self.assertEqual(view.transpose(1, 2).contiguous().data_ptr(), x.data_ptr())
        self.assertTrue(torch.equal(o, kt.scaled_dot_product_attention(*[view.contiguous()] * 3)))
        self.assert_close(o, torch.nn.functional.softmax(view.double() @ view.double().transpose(-1, -2) * 32 ** -0.5, -1) @ view.double(), 2e-6)

    def test_what_is_wrong_is_refused_with_a_sentence(self):
        q, k = drawn(1, 2, 8, 32), drawn(1, 1, 9, 32)
        for sentence, call in (("attn_mask is given", lambda: kt.scaled_dot_product_attention(q, q, q, attn_mask=q)),
                               ("dropout_p is 0.1", lambda: kt.scaled_dot_product_attention(q, q, q, dropout_p=0.1)),
                               ("is_causal with 8 queries and 9 keys", lambda: kt.scaled_dot_product_attention(q, k, k, is_causal=True)),
                               ("query has 2 heads and key 1", lambda: kt.scaled_dot_product_attention(q, k, k)),
                               ("D is 31; allowed in this kernel: 32, 64", lambda: kt.scaled_dot_product_attention(*[q[..., :31]] * 3))):
            with self.subTest(sentence=sentence), self.assertRaisesRegex(ValueError, sentence):
                call()


class WithoutAFormula(unittest.TestCase):
    """A function without a gradient raises an error instead of returning a partial gradient."""

    def functions(self):
        x, packed = leaves_of(T=20), leaves_of(B=1, T=20)
        a = [drawn(1, 2, 20, 32, seed=i) for i in range(3)]
        bounds = torch.tensor([0, 5, 20], device=DEVICE)
        yield lambda q, *rest: kt.chunk_rwkv6(q, *rest)[0], [x[name] for name in ("q", "k", "v", "log_w", "u")]
        yield lambda q, *rest: kt.fused_recurrent_gla(q, *rest, cu_seqlens=bounds)[0], [packed[name] for name in ("q", "k", "v", "log_w")]
        yield lambda q, *rest: kt.chunk_linear_attn(q, *rest)[0], [x[name] for name in ("q", "k", "v")]
        yield lambda q, *rest: kt.scaled_dot_product_attention(q, *rest, is_causal=True), a

    def refused(self, sentence, call):
        with self.assertRaisesRegex(RuntimeError, sentence):
            call()

    def test_gradients_of_gradients(self):
        for function, inputs in self.functions():
            for each in (function, *([torch.compile(function, backend=BACK_END)] if HAS_CUSTOM_OP else [])):
                leaves = [x.clone().requires_grad_() for x in inputs]
                once = torch.autograd.grad(each(*leaves).sum(), leaves)

                def twice():
                    gradients = torch.autograd.grad(each(*leaves).sum(), leaves, create_graph=True)
                    self.assertTrue(all(torch.equal(x, y) for x, y in zip(gradients, once)))
                    gradients[0].pow(2).sum().backward()

                # Compiled code raises torch's own errors; newer versions raise earlier, when a
                # buffer of the forward pass is reused.
                self.refused("no gradients of gradients" if each is function else "double backward|donated buffers", twice)

    def test_forward_mode_and_vmap(self):
        forward = torch.autograd.forward_ad
        for function, inputs in self.functions():
            with forward.dual_level():
                self.refused("has a tangent", lambda: function(*inputs[:-1], forward.make_dual(inputs[-1], inputs[-1])))
            q = inputs[0].clone().requires_grad_()
            o = function(q, *inputs[1:])
            self.refused("has no memory of its own", lambda: torch.autograd.grad(o, q, torch.stack([o.detach()] * 2), is_grads_batched=True))

    def test_where_there_is_no_gradient_at_all(self):
        q, k, v = (drawn(1, 20, 2, 32, seed=i) for i in range(3))
        scale = torch.tensor(0.1, requires_grad=True)
        for leaf in (q, k, v):
            leaf.requires_grad_()
            self.refused("[qkv] requires a gradient, which is not computed here", lambda: kernel_ladder.attention(q, k, v))
            with torch.no_grad():
                kernel_ladder.attention(q, k, v)
            leaf.requires_grad_(False)
        for call in (lambda: kernel_ladder.attention(q, k, v, scale=scale), lambda: kt.scaled_dot_product_attention(q, q, q, scale=scale),
                     lambda: kt.chunk_gla(q, k, v, -k.abs(), scale)):
            self.refused("scale requires a gradient", call)
        # lse
        self.assertFalse(kt.attention(q.requires_grad_(), k, v, True, 0.1, "", False)[1].requires_grad)
        if not HAS_CUSTOM_OP:
            self.refused("torch.jit.trace does not see attention", lambda: torch.jit.trace(lambda q: kt.attention(q, k, v, True, 0.1, "", False)[0], k))


@unittest.skipUnless(HAS_CUSTOM_OP, f"torch.library.custom_op: torch 2.4 and newer, this is {torch.__version__}")
class CustomOperators(InDouble):
    def operators(self):
        """Each operator with arguments that reach all of its code: options given and omitted."""
        for u, per_head, state, packed in ((True, False, True, False), (False, False, False, False), (True, True, False, True)):
            x = leaves_of(B=1 if packed else 2, T=21, K=8, V=4, per_head=per_head, u=u)
            bounds = torch.tensor([0, 5, 21], device=DEVICE) if packed else None
            inputs = [x["q"], x["k"], x["v"], x["log_w"], x.get("u"), x["state"] if state else None, bounds]
            yield "recurrence", (*(grown(each) for each in inputs), 0.5, False, state, "", False)
            d_state = drawn(2, 2, 8, 4, seed=8) if state else drawn(0)
            yield "recurrence_backward", (*inputs, drawn(*x["v"].shape, seed=7), d_state, 0.5, False)
        q, k, v = (drawn(1, 9, heads, 32, seed=heads) for heads in (2, 1, 1))
        yield "attention", (grown(q), grown(k), grown(v), True, 0.5, "", False)
        o, lse = kt.attention(q, k, v, True, 0.5, "", False)
        yield "attention_backward", (q, k, v, o, lse, drawn(*q.shape, seed=7), True, 0.5, False)

    def test_opcheck(self):
        for operator, arguments in self.operators():
            with self.subTest(operator=operator):
                torch.library.opcheck(getattr(torch.ops.kernel_ladder, operator).default, arguments)

    def test_compiled_whole_with_gradients(self):
        """fullgraph=True: no break at our operators, and the same bits as without torch.compile."""
        x = leaves_of(T=37)
        a = {name: drawn(1, 2, 40, 32, seed=i) for i, name in enumerate("qkv")}
        for name, function, leaves in (
                ("chunk_rwkv6", lambda q, k, v, log_w, u, state: kt.chunk_rwkv6(q, k, v, log_w, u, initial_state=state, output_final_state=True), x),
                ("chunk_gla", lambda q, k, v, log_w: kt.chunk_gla(q, k, v, log_w)[:1], {each: x[each] for each in ("q", "k", "v", "log_w")}),
                ("chunk_linear_attn", lambda q, k, v: kt.chunk_linear_attn(q, k, v, normalize=False)[:1], {each: x[each] for each in ("q", "k", "v")}),
                ("scaled_dot_product_attention", lambda q, k, v: (kt.scaled_dot_product_attention(q, k, v, is_causal=True),), a)):
            with self.subTest(function=name):
                results = []
                for each in (function, torch.compile(function, fullgraph=True, backend=BACK_END)):
                    mine = {name: value.clone().requires_grad_() for name, value in leaves.items()}
                    outputs = each(**mine)
                    sum(o.sum() for o in outputs).backward()
                    results.append((*(o.detach() for o in outputs), *(value.grad for value in mine.values())))
                with torch.no_grad():
                    results[0] += function(**leaves)
                    results[1] += torch.compile(function, fullgraph=True, backend=BACK_END)(**leaves)
                for eager, compiled in zip(*results, strict=True):
                    self.assertTrue(torch.equal(eager, compiled))


class OnlyDlpack:
    """An array of another library."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return torch.utils.dlpack.to_dlpack(self.tensor)

    def __dlpack_device__(self):
        return {"cpu": 1, "cuda": 2}[DEVICE], 0


class Dlpack(unittest.TestCase):
    def test_arrays_of_any_library_are_read_and_written(self):
        x = leaves_of()
        del x["state"]
        expected, _ = kt.chunk_rwkv6(x["q"], x["k"], x["v"], x["log_w"], x["u"], 1.0)
        o = torch.empty_like(x["v"])
        kernel_ladder.run("wkv", o=OnlyDlpack(o), **{name: OnlyDlpack(each) for name, each in x.items()})
        self.assertTrue(torch.equal(o, expected))
        with self.assertRaisesRegex(TypeError, "k is bfloat16; allowed: float32"):
            kernel_ladder.run("wkv", o=OnlyDlpack(o), **{name: OnlyDlpack(each.bfloat16() if name == "k" else each) for name, each in x.items()})
        with self.assertRaisesRegex(ValueError, "v is not contiguous"):
            kernel_ladder.run("wkv", o=OnlyDlpack(o), **{name: OnlyDlpack(each) for name, each in (x | {"v": x["v"].transpose(1, 2)}).items()})
        with self.assertRaisesRegex(TypeError, "q is a list; allowed: a numpy array"):
            kernel_ladder.wkv([1], x["k"], x["v"], x["log_w"], x["u"], initial_state=None)
