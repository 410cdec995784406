"""Tests the promises to users bit by bit, through the C interface in the emulator, or with
KERNEL_LADDER_DEVICE=cuda on the GPU. library/README.md has the table of promises.

`choice` fixes the kernel, and batch_invariant is 1, so a sequence's result does not depend on the
batch around it."""
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import kernel_ladder as kl
from kernel_ladder import _arrays, _library, _prepared

DEVICE = os.environ.get("KERNEL_LADDER_DEVICE") or "cpu"
README = Path(__file__).resolve().parents[1] / "README.md"
B, T, H, K = 2, 200, 2, 64
# the NaN's position: not in the first step of a chunk of 16, 32, 48, 64 or 128
WHERE, HEAD, CHANNEL = 93, 1, 5

# (operator, kernel): (storages, at multiples of how many steps it can be resumed, to a multiple of
# how many steps a NaN in v reaches back)
CONTRACTS = {
    ("wkv", "wkv_shared_mem"): (("fp32", "bf16"), 1, 1),
    ("wkv", "wkv_fused_recurrent"): (("fp32", "bf16"), 1, 1),
    ("wkv", "wkv_time_tiles"): (("fp32", "bf16"), 4, 4),
    ("wkv", "wkv_chunkwise"): (("fp32", "bf16"), 16, 16),
    ("wkv", "wkv_chunkwise_fused"): (("fp32", "bf16"), 16, 16),
    ("gla", "wkv_time_tiles"): (("fp32", "bf16"), 4, 4),
    ("gla", "wkv_chunkwise"): (("fp32", "bf16"), 16, 16),
    ("gla", "wkv_chunkwise_fused"): (("fp32", "bf16"), 16, 16),
    ("linear_attention", "packed_causal_product"): (("fp32",), None, 1),
    ("linear_attention", "prefix_causal_product"): (("fp32",), None, 1),
    ("linear_attention", "linear_attention_chunk_states"): (("fp32",), None, 16),
    ("linear_attention", "linear_attention_chunkwise"): (("fp32", "bf16"), None, 16),
    ("attention", "attention_scalar_tiles"): (("fp32", "bf16", "fp16"), None, 64),
    ("attention", "attention_pipelined"): (("bf16", "fp16"), None, 128),
    ("attention", "attention_sliding_window"): (("bf16", "fp16"), None, 128),
    ("wkv_backward", "wkv_chunkwise_backward"): (("fp32", "bf16"), None, None),
    ("attention_backward", "attention_backward_scalar"): (("fp32", "bf16"), None, None),
    ("attention_backward", "attention_backward_two_kernels"): (("bf16",), None, None),
}
# The emulated library is built without it. Its row is tested with KERNEL_LADDER_DEVICE=cuda on a
# Hopper GPU.
# blocks of 192 queries, tiles of 128 keys
HOPPERS = {("attention", "attention_sm90"): (("bf16", "fp16"), None, 384)}
# Only the emulated library has these kernels, which are the CPU's.
CPUS = {("wkv", "wkv_openmp"): (("fp32",), 1, 1), ("linear_attention", "linear_attention_openmp"): (("fp32",), None, 1)}


def tested():
    if DEVICE == "cpu":
        return CONTRACTS | CPUS
    import torch

    return CONTRACTS | HOPPERS if torch.cuda.get_device_capability()[0] == 9 else CONTRACTS


def stored(x, storage):
    x = np.ascontiguousarray(x, np.float32)
    return {"fp32": lambda: x, "fp16": lambda: x.astype(np.float16), "bf16": lambda: (x.view(np.uint32) >> 16).astype(np.uint16)}[storage]()


def numbers(x):
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x.astype(np.float32)


def inputs(storage, seed=0, length=T):
    draw = np.random.default_rng(seed).standard_normal
    shapes = {name: (B, length, H, K) for name in ("q", "k", "v", "log_w", "d_o")}
    x = {name: draw(shape) for name, shape in shapes.items()}
    x["log_w"] = -np.exp(x["log_w"] - 2)
    x = {name: stored(value, storage) for name, value in x.items()}
    x["u"] = stored(draw((H, K)), storage)
    x["initial_state"] = draw((B, H, K, K)).astype(np.float32)
    return x


def placed(x):
    """A numpy array as a tensor on the GPU."""
    import torch

    return (torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.dtype == np.uint16 else torch.from_numpy(x)).to(DEVICE)


def taken(x):
    """Undoes placed(x)."""
    import torch

    return x.view(torch.int16).cpu().numpy().view(np.uint16) if x.dtype == torch.bfloat16 else x.cpu().numpy()


def compute(operator, x, **options):
    """All outputs that belong to a single batch element."""
    if DEVICE == "cpu":
        return outputs(operator, x, **options)
    return tuple(taken(each) for each in outputs(operator, {name: placed(value) for name, value in x.items()}, **options))


def outputs(operator, x, **options):
    part = {name: x[name] for name in ("q", "k", "v")}
    if operator in ("wkv", "gla"):
        return kl.wkv(**part, log_w=x["log_w"], u=x["u"] if operator == "wkv" else None, initial_state=x["initial_state"], output_final_state=True,
                      **options)
    if operator == "linear_attention":
        return (kl.linear_attention(**part, **options),)
    if operator == "attention":
        return kl.attention(**part, causal=True, **options)
    if operator == "wkv_backward":
        gradients = kl.wkv_backward(**part, log_w=x["log_w"], u=x["u"], d_o=x["d_o"], initial_state=x["initial_state"], **options)
        del gradients["du"]  # a sum over the batch
        return tuple(gradients.values())
    o, lse = kl.attention(**part, causal=True, batch_invariant=True)
    return kl.attention_backward(**part, o=o, lse=lse, d_o=x["d_o"], causal=True, **options)


def batch(x, b):
    return {name: value if name == "u" else value[b:b + 1] for name, value in x.items()}


def steps(x, begin, end, state):
    return {name: value if name == "u" else state if name == "initial_state" else np.ascontiguousarray(value[:, begin:end]) for name, value in x.items()}


def bits(arrays):
    return [np.ascontiguousarray(x).view(np.uint8) for x in arrays]


class Contracts(unittest.TestCase):
    def each(self):
        for (operator, kernel), (storages, resumed, back) in tested().items():
            for storage in storages:
                with self.subTest(operator=operator, kernel=kernel, storage=storage):
                    yield operator, inputs(storage), {"choice": kernel, "batch_invariant": True}, resumed, back

    def assert_same(self, a, b):
        for x, y in zip(bits(a), bits(b), strict=True):
            self.assertTrue(np.array_equal(x, y))

    def test_alone_equals_in_a_batch_and_the_same_input_twice(self):
        for operator, x, options, _, _ in self.each():
            whole = compute(operator, x, **options)
            self.assert_same(whole, compute(operator, x, **options))
            self.assert_same([each[1:2] for each in whole], compute(operator, batch(x, 1), **options))

    def test_whole_equals_resumed(self):
        for operator, x, options, resumed, _ in self.each():
            if resumed is None:
                continue
            o, final_state = compute(operator, x, **options)
            for cut in (3 * resumed, 128):
                first, state = compute(operator, steps(x, 0, cut, x["initial_state"]), **options)
                second, last = compute(operator, steps(x, cut, T, state), **options)
                self.assert_same((o, final_state), (np.concatenate((first, second), 1), last))

    def test_a_nan_reaches_what_reads_it(self):
        for operator, x, options, _, back in self.each():
            if back is None:
                continue
            whole = numbers(compute(operator, x, **options)[0])
            for name in ("q", "k", "v"):
                with_nan = {each: value.copy() for each, value in x.items()}
                with_nan[name][1, WHERE, HEAD, CHANNEL] = stored([np.nan], "bf16")[0] if x["q"].dtype == np.uint16 else np.nan
                o = numbers(compute(operator, with_nan, **options)[0])
                reached = np.zeros(o.shape, bool)
                begin, end = (WHERE, WHERE + 1) if name == "q" else (WHERE, T) if name == "k" else (WHERE // back * back, T)
                reached[1, begin:end, HEAD, CHANNEL if name == "v" else slice(None)] = True
                self.assertTrue(np.array_equal(np.isnan(o), reached), name)
                self.assertTrue(np.array_equal(o[~reached], whole[~reached]), name)

    @unittest.skipIf(DEVICE != "cpu", "schedules are the emulator's")
    def test_any_schedule(self):
        code = ("import hashlib, test_contracts as t\n"
                "done = hashlib.sha256()\n"
                "for (operator, kernel), (storages, _, _) in t.CONTRACTS.items():\n"
                "    for each in t.bits(t.compute(operator, t.inputs(storages[-1]), choice=kernel, batch_invariant=True)): done.update(each)\n"
                "print(done.hexdigest())")
        results = {subprocess.run([sys.executable, "-c", code], env={**os.environ, "EMULATOR_SCHEDULE": schedule}, cwd=Path(__file__).parent, check=True,
                                  capture_output=True, text=True).stdout for schedule in ("forward", "reverse", "7")}
        self.assertEqual(len(results), 1, results)

    def test_the_table_says_so(self):
        def cell(number, one):
            return "-" if number is None else one if number == 1 else f"multiples of {number}"
        rows = [f"| `{operator}` | `{kernel}` | {', '.join(storages)} | {cell(resumed, 'every step')} | {cell(back, 'no earlier row')} |"
                for (operator, kernel), (storages, resumed, back) in (CONTRACTS | HOPPERS | CPUS).items()]
        text = README.read_text()
        for row in rows:
            self.assertIn(row, text)


class BatchInvariant(unittest.TestCase):
    @unittest.skipIf(DEVICE != "cpu", "only the emulator has as few multiprocessors as one likes")
    def test_without_it_results_depend_on_the_batch(self):
        x = inputs("fp32", length=384)

        def alone_and_in_the_batch(invariant):
            options = {"choice": "linear_attention_chunkwise", "batch_invariant": invariant}
            return compute("linear_attention", x, **options)[0][1:], compute("linear_attention", batch(x, 1), **options)[0]
        # one batch alone is cut into three segments of time, but two are not
        os.environ["EMULATOR_MULTIPROCESSORS"] = "3"
        self.addCleanup(os.environ.pop, "EMULATOR_MULTIPROCESSORS")
        self.assertFalse(np.array_equal(*alone_and_in_the_batch(False)))
        self.assertTrue(np.array_equal(*alone_and_in_the_batch(True)))

    def test_the_rules_keep_it(self):
        for storage in ("fp32", "bf16"):
            x = inputs(storage)
            for operator in ("wkv", "gla", "linear_attention", "attention", "wkv_backward", "attention_backward"):
                with self.subTest(operator=operator, storage=storage):
                    whole, alone = (compute(operator, each, batch_invariant=True) for each in (x, batch(x, 1)))
                    for a, b in zip(bits(each[1:2] for each in whole), bits(alone)):
                        self.assertTrue(np.array_equal(a, b))

    def test_what_cannot_keep_it_is_refused(self):
        x = inputs("bf16")
        with self.assertRaisesRegex(ValueError, "choice is 'attention_split_keys', whose sums depend on the batch"):
            compute("attention", x, choice="attention_split_keys", batch_invariant=True)


class Threads(unittest.TestCase):
    def test_four_at_once_compute_what_one_does(self):
        x = inputs("fp32")
        expected = bits(compute("wkv", x))
        wrong = []

        def work(seed):
            for _ in range(3):
                if not all(np.array_equal(a, b) for a, b in zip(bits(compute("wkv", x)), expected)):
                    wrong.append(seed)
                try:
                    kl.wkv(x["q"], x["k"], x["v"], x["log_w"], x["u"], choice=f"thread_{seed}")
                except ValueError as error:  # each thread has its own message
                    if f"'thread_{seed}'" not in str(error):
                        wrong.append(str(error))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        self.assertEqual(wrong, [])


@unittest.skipIf(DEVICE != "cpu", "on a GPU: test_gpu.py")
class Interface(unittest.TestCase):
    def prepared(self, operator="wkv", **options):
        x = inputs("fp32")
        o = np.full((B, T, H, K), 7, np.float32)
        values = {name: x[name] for name in ("q", "k", "v", "log_w", "u")} | {"o": o, **options}
        library, op, args, views = _prepared(operator, values, None)
        return library, op, args, (o, views)

    def test_a_workspace_is_as_large_as_is_said_and_one_that_is_too_small_is_refused(self):
        library, op, args, (o, _) = self.prepared(choice="wkv_fused_recurrent")
        needed = library.workspace("wkv", args)
        self.assertEqual(needed, 2 * B * T * H * K * 4)  # two tiles of 32 key rows
        guarded = np.full(needed + 512, 99, np.uint8)
        begin = -guarded.ctypes.data % 256
        args.workspace, args.workspace_bytes = guarded.ctypes.data + begin, needed - 1
        with self.assertRaisesRegex(ValueError, f"workspace_bytes is {needed - 1}; this call needs more"):
            library.run("wkv", args)
        self.assertTrue((o == 7).all() and (guarded == 99).all())
        args.workspace_bytes = needed
        library.run("wkv", args)
        self.assertFalse((o == 7).any())
        self.assertTrue((guarded[:begin] == 99).all() and (guarded[begin + needed:] == 99).all())
        with_workspace = o.copy()
        args.workspace, args.workspace_bytes = None, 0
        library.run("wkv", args)
        self.assertTrue(np.array_equal(o, with_workspace))

    def test_out_of_memory_is_a_sentence_and_nothing_is_written(self):
        library, op, args, (o, _) = self.prepared(choice="wkv_fused_recurrent")
        args.T = 1 << 33  # the arrays are not read before the workspace exists
        args.log_w_stride_B = args.T * args.log_w_stride_T
        with self.assertRaisesRegex(MemoryError, "cudaErrorMemoryAllocation.*bytes asked for"):
            library.run("wkv", args)
        self.assertTrue((o == 7).all())
        args.T = T
        args.log_w_stride_B = T * H * K
        library.run("wkv", args)  # the error has no effect on the next call
        self.assertFalse((o == 7).any())

    def test_bad_arguments_are_a_sentence_and_nothing_is_written(self):
        for change, sentence in (({"K": 0}, "K is 0; allowed: 1 or more"), ({"B": -1}, "B is -1; allowed: 0 or more"),
                                 ({"storage": 3}, "storage is 3; allowed here: fp32, bf16, bf16_fp32_decay"), ({"q": None}, "q is a null pointer"),
                                 ({"reverse": 2}, "reverse is 2; allowed: 0, 1"), ({"log_w_stride_T": 5}, "log_w has strides"),
                                 ({"batch_invariant": 2}, "batch_invariant is 2"), ({"struct_size": 8}, "struct_size is 8; allowed"),
                                 ({"choice": b"nothing"}, "choice is 'nothing'; allowed for this operator in fp32: wkv_chunkwise,")):
            with self.subTest(change=change):
                library, op, args, (o, _) = self.prepared()
                for name, value in change.items():
                    setattr(args, name, value)
                with self.assertRaisesRegex(ValueError, sentence):
                    library.run("wkv", args)
                self.assertTrue((o == 7).all())

    def test_in_the_checked_mode_outputs_beyond_the_range_are_an_error(self):
        """Runs in its own process, because the environment is read once. Without the variable, or
        if an input is NaN, there is no error."""
        program = """
import sys, numpy as np, kernel_ladder as kl
x = {name: np.full((1, 20, 1, 64), 60000, np.float16) for name in "qkv"}
x["q"][:] = float(sys.argv[1])
kl.run("attention", **{name: x[name] for name in "qkv"}, scale=1e-9, o=np.empty_like(x["v"]), lse=np.empty((1, 1, 20), np.float32), causal=1)
huge = {name: np.full((1, 20, 1, 64), 2.0 ** 80, np.float32) for name in ("q", "k", "v")}
huge["q"][0, 0, 0, 0] *= float(sys.argv[1])
kl.run("wkv", **huge, log_w=np.zeros((1, 20, 1, 64), np.float32), u=np.ones((1, 64), np.float32), o=np.empty((1, 20, 1, 64), np.float32))
"""
        for checked, q, said in (("1", "1", "1280 of 1280 elements of o are NaN or infinite, and no input is"), ("0", "1", ""), ("1", "nan", "")):
            paths = os.pathsep.join(sys.path)
            done = subprocess.run([sys.executable, "-c", program, q], env=os.environ | {"KERNEL_LADDER_CHECKED": checked, "PYTHONPATH": paths},
                                  capture_output=True, text=True)
            with self.subTest(checked=checked, q=q):
                self.assertEqual(done.returncode, 1 if said else 0, done.stderr)
                self.assertIn(f"FloatingPointError: {said}" if said else "", done.stderr)

    def test_an_older_struct_is_shorter_and_a_younger_one_longer(self):
        library, op, args, (o, _) = self.prepared()
        library.run("wkv", args)
        expected = o.copy()

        class Younger(ctypes.Structure):
            _fields_ = [("known", op.struct), ("unknown", ctypes.c_int64)]
        younger = Younger(args, 0)
        younger.known.struct_size = ctypes.sizeof(younger)
        o[:] = 7
        library.run("wkv", younger)
        self.assertTrue(np.array_equal(o, expected))
        younger.unknown = 1
        with self.assertRaisesRegex(ValueError, "is set; allowed: 0, this library is older"):
            library.run("wkv", younger)
        # as if final_state had been appended later
        args.struct_size = type(args).final_state.offset
        args.final_state = 1
        o[:] = 7
        library.run("wkv", args)
        self.assertTrue(np.array_equal(o, expected))

    def test_the_cpus_kernels_serve_where_they_have_the_operator(self):
        x = inputs("fp32")
        part = {name: x[name] for name in ("q", "k", "v")}
        o = np.empty_like(x["v"])
        self.assertEqual(kl.chosen("wkv", **part, log_w=x["log_w"], u=x["u"], o=o), "wkv_openmp")
        self.assertEqual(kl.chosen("gla", **part, log_w=x["log_w"], o=o), "wkv_time_tiles")
        self.assertEqual(kl.chosen("linear_attention", **part, o=o), "linear_attention_openmp")
        library, _, args, (o, _) = self.prepared()
        self.assertEqual(library.workspace("wkv", args), 0)
        self.assertTrue((o == 7).all())  # asking for the workspace does not compute

    def test_every_kernel_has_a_name(self):
        kernels = _library.library("emulated").kernels
        self.assertLessEqual({kernel for _, kernel in CONTRACTS | CPUS}, set(kernels))
        self.assertEqual(len(kernels), len(set(kernels)))

    def test_the_library_needs_boost_context_and_openmp_and_shows_its_interface_alone(self):
        path = Path(_library.HERE) / "libkernel_ladder_emulated.so"
        needed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        names = {line.split("[")[1].split("]")[0].split(".so")[0] for line in needed.splitlines() if "(NEEDED)" in line}
        self.assertLessEqual(names, {"libboost_context", "libgomp", "libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64", "libpthread", "libdl"})
        shown = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        functions = {f"kl_{name}{more}" for name in _library.OPERATORS for more in ("", "_workspace", "_choice")} | {"kl_error", "kl_back_end", "kl_version", "kl_kernels"}
        self.assertEqual({line.split()[-1] for line in shown.splitlines()}, functions)


@unittest.skipIf(DEVICE != "cpu", "numpy's arrays are the host's")
class Arrays(unittest.TestCase):
    def setUp(self):
        self.x = {name: value for name, value in inputs("fp32").items() if name in ("q", "k", "v", "log_w", "u")}
        self.o = np.full_like(self.x["v"], 7)

    def refused(self, sentence, **values):
        with self.subTest(sentence=sentence), self.assertRaisesRegex((TypeError, ValueError), sentence):
            kl.run("wkv", **self.x | {"o": self.o} | values)
        self.assertTrue((self.o == 7).all())

    def test_what_a_kernel_would_read_as_something_else_is_refused(self):
        q, state = self.x["q"], np.zeros((B, H, K, K), np.float32)
        self.refused(r"q is >f4, in another order of bytes; allowed: q.astype\('<f4'\)", q=q.astype(">f4"))
        self.refused("q is >u2, in another order", q=q.astype(">u2"))
        self.refused("cu_seqlens is >i8, in another order", cu_seqlens=np.array([0, T]).astype(">i8"))
        self.refused("o is >f4, in another order", o=self.o.view(">f4"))
        self.refused("q is a numpy.ma.*MaskedArray; allowed: a plain numpy array", q=np.ma.array(q))
        self.refused("u is a numpy.*recarray; allowed: a plain numpy array", u=self.x["u"].view(np.recarray))
        self.refused("q is object; allowed", q=q.astype(object))
        self.refused("q is void32; allowed", q=q.view([("x", np.float32)]))
        self.refused("q is complex64; allowed", q=q.astype(np.complex64))
        self.refused("u is a float32; allowed: a numpy array", u=np.float32(1))
        self.refused("initial_state is uint32; allowed: float32", initial_state=state.view(np.uint32))
        self.refused("q is not contiguous", q=np.broadcast_to(q[:, :1], q.shape))
        self.refused("o is not contiguous", o=np.broadcast_to(self.o[:, :1], q.shape))
        self.refused("v is not contiguous", v=self.x["v"][..., ::-1])
        self.refused("k is not aligned", k=np.frombuffer(b"0" + self.x["k"].tobytes(), np.uint8)[1:].view(np.float32).reshape(q.shape))
        self.refused(r"cu_seqlens has shape \(0,\); allowed: \(sequences \+ 1\)", cu_seqlens=np.zeros(0, np.int64))
        self.refused(r"q has shape \(200, 2, 64\); allowed: \(B, T, H, K\)", q=q[0])
        with self.assertRaisesRegex(ValueError, r"q has shape \(200, 2, 64\); allowed: \(B, T_q, H_q, D\)"):
            kl.attention(q[0], q, q)

    def test_what_may_not_be_written_is_no_output(self):
        fixed = self.o.copy()
        fixed.flags.writeable = False
        self.refused("o may not be written", o=fixed)
        with tempfile.NamedTemporaryFile() as file:
            self.o.tofile(file.name)
            mapped = {mode: np.memmap(file.name, np.float32, mode, shape=self.o.shape) for mode in ("r", "r+")}
            self.refused("o may not be written", o=mapped["r"])
            self.refused("o may not be written", o=np.asarray(mapped["r"]))
            kl.run("wkv", **self.x, o=mapped["r+"])
            expected = kl.wkv(**self.x)[0]
            self.assertTrue(np.array_equal(mapped["r"], expected))
            self.x["q"].tofile(file.name)
            self.assertTrue(np.array_equal(kl.wkv(**self.x | {"q": mapped["r"]})[0], expected))

    def test_dlpack_says_what_may_not_be_written(self):
        class Foreign:
            def __dlpack_device__(self):
                return 1, 0

            def __dlpack__(each, max_version=None):
                shape = (ctypes.c_int64 * self.o.ndim)(*self.o.shape)
                tensor = _arrays._DLTensor(self.o.ctypes.data, 1, 0, self.o.ndim, (2, 32, 1), shape)
                each.tensor = _arrays._DLManagedTensorVersioned((1, 0), None, None, each.flags, tensor)
                new = ctypes.pythonapi.PyCapsule_New
                new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
                return new(ctypes.addressof(each.tensor), b"dltensor_versioned", None)
        foreign = Foreign()
        for foreign.flags in (1, 2):
            self.refused("o may not be written", o=foreign)
        foreign.flags = 0
        kl.run("wkv", **self.x, o=foreign)
        self.assertTrue(np.array_equal(self.o, kl.wkv(**self.x)[0]))

    def test_an_output_has_its_memory_for_itself(self):
        q, state = self.x["q"], np.zeros((B, H, K, K), np.float32)
        self.refused("o shares memory with q", o=q)
        both = np.zeros((B + 1, *q.shape[1:]), np.float32)
        self.refused("o shares memory with k", k=both[:B], o=both[1:])
        kl.run("wkv", **self.x | {"k": both[:1].repeat(B, 0)}, o=both[1:])
        self.refused("final_state shares memory with initial_state", initial_state=state, final_state=state)
        self.refused("o shares memory with final_state", final_state=self.o.ravel()[:state.size].reshape(state.shape))
        one = {name: value if name == "u" else np.ascontiguousarray(value[:, :1]) for name, value in self.x.items()}
        o, last = kl.wkv(**one, initial_state=state, output_final_state=True)
        kl.run("wkv", **one, o=o, initial_state=state, final_state=state)  # a step of decoding
        self.assertTrue(np.array_equal(state, last))


@unittest.skipIf(DEVICE != "cpu", "CUDA refuses what is forked")
class Forks(unittest.TestCase):
    def test_a_child_computes_what_its_parent_does(self):
        """Also while another thread of the parent computes, and in the child's own child."""
        x, is_over = inputs("fp32"), threading.Event()
        for choice in ("wkv_openmp", "wkv_time_tiles"):
            expected = bits(compute("wkv", x, choice=choice))

            def work():
                while not is_over.is_set():
                    compute("wkv", x, choice=choice)
            busy = threading.Thread(target=work)
            for each in range(4):
                if each == 1:
                    busy.start()
                child = os.fork()
                if child == 0:
                    grandchild = os.fork()
                    signal.alarm(60)  # the limit for each, if it hangs
                    is_same = all(np.array_equal(a, b) for a, b in zip(bits(compute("wkv", x, choice=choice)), expected))
                    is_same = is_same and (grandchild == 0 or os.waitpid(grandchild, 0)[1] == 0)
                    os._exit(0 if is_same else 1)
                with self.subTest(choice=choice, each=each):
                    self.assertEqual(os.waitpid(child, 0)[1], 0)
            is_over.set()
            busy.join()
            is_over.clear()


@unittest.skipIf(DEVICE != "cpu", "a GPU's numbers are not looked at")
class LengthsOnTheHost(unittest.TestCase):
    def refused(self, sentence, operator, outputs, **values):
        x = inputs("fp32")
        values = {name: x[name][:1] for name in ("q", "k", "v", "log_w", "d_o")} | {"u": x["u"]} | values
        written = {name: np.full_like(values.get(name[1:], x["v"][:1]), 7) for name in outputs}
        if "attention" in operator:
            written["lse"] = np.full((1, H, T), 7, np.float32)
            values["o"] = written.get("o", x["v"][:1])
        known = _library.OPERATORS[operator].given
        with self.subTest(operator=operator, sentence=sentence), self.assertRaisesRegex(ValueError, sentence):
            kl.run(operator, **{name: value for name, value in (values | written).items() if name in known and (operator[:3], name) != ("gla", "u")})
        self.assertTrue(all((each == 7).all() for each in written.values()))

    def test_bounds_begin_with_0_never_fall_and_end_with_t(self):
        least = -1 << 63
        for bounds, index, allowed in (([5, 17, T], 0, "0$"), ([-1, T], 0, "0$"), ([0, 40, 17, T], 2, f"40 to {T}, which is T"),
                                       ([0, T + 6, T], 1, f"0 to {T}, which is T"), ([0, 17, 17, 50], 3, f"{T}, which is T"),
                                       ([0, 17, T + 6], 2, f"{T}, which is T"), ([0, least, T], 1, f"0 to {T}"), ([0, T, -least - 1], 2, f"{T}, which")):
            wrong, right = np.array(bounds), np.linspace(0, T, len(bounds)).astype(np.int64)
            said = rf"\[{index}\] is {bounds[index]}; allowed: {allowed}"
            for operator in ("wkv", "gla"):
                for choice in (None, "wkv_chunkwise"):
                    self.refused("cu_seqlens" + said, operator, ("o",), cu_seqlens=wrong, choice=choice)
            for name, other in (("cu_seqlens_q", "cu_seqlens_k"), ("cu_seqlens_k", "cu_seqlens_q")):
                self.refused(name + said, "attention", ("o",), **{name: wrong, other: right})
                self.refused(name + said, "attention_backward", ("dq", "dk", "dv"), **{name: wrong, other: right})
        self.refused(f"sequences is 0; allowed with cu_seqlens: 1 or more, since T is {T}", "wkv", ("o",), cu_seqlens=np.array([0]))

    def test_key_lengths_are_0_to_t_k(self):
        for length in (-1, T + 1, 1 << 62, -1 << 63):
            for operator, outputs in (("attention", ("o",)), ("attention_backward", ("dq", "dk", "dv")), ("linear_attention", ("o",))):
                self.refused(rf"key_lengths\[0\] is {length}; allowed: 0 to {T}, which is T_k", operator, outputs, key_lengths=np.array([length]))


@unittest.skipUnless((Path(_library.HERE) / "libkernel_ladder.so").exists() and not Path("/dev/nvidiactl").exists(), "the GPU's library without a GPU")
class WithoutADevice(unittest.TestCase):
    def test_it_is_said_and_nothing_is_written(self):
        o = np.full((1, 1, 1, 4), 7, np.float32)
        args = _library.OPERATORS["wkv"].usual()
        args.B = args.T = args.H = 1
        args.K = args.V = 4
        for name in ("q", "k", "v", "log_w", "u", "o"):
            setattr(args, name, o.ctypes.data)
        with self.assertRaisesRegex(RuntimeError, "no usable GPU"):
            _library.library("cuda").run("wkv", args)
        self.assertTrue((o == 7).all())
