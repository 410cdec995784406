"""Tests the library on a GPU with torch's tensors: graphs, streams, threads, memory, errors.
Skipped without a GPU, or without a torch that supports it. test_torch.py and test_contracts.py run
there with KERNEL_LADDER_DEVICE=cuda."""
import ctypes
import os
import subprocess
import sys
import threading
import time
import unittest

import torch

import kernel_ladder as kl
import kernel_ladder.torch as kt
from kernel_ladder import _library, _prepared

ON_A_GPU = torch.cuda.is_available() and (_library.HERE / "libkernel_ladder.so").exists()
HOPPER = ON_A_GPU and torch.cuda.get_device_capability()[0] == 9
B, T, H, K = 2, 200, 2, 64

# The same bits each time. The kernels below it add with atomics, or do not promise this.
KERNELS = [("wkv", "wkv_shared_mem", "fp32"), ("wkv", "wkv_fused_recurrent", "bf16"), ("wkv", "wkv_time_tiles", "bf16"), ("wkv", "wkv_chunkwise", "bf16"),
           ("wkv", "wkv_chunkwise", "fp32"), ("wkv", "wkv_chunkwise_fused", "bf16"), ("gla", "wkv_time_tiles", "fp32"), ("gla", "wkv_chunkwise", "bf16"),
           ("linear_attention", "packed_causal_product", "fp32"), ("linear_attention", "prefix_causal_product", "fp32"),
           ("linear_attention", "linear_attention_chunk_states", "fp32"), ("linear_attention", "linear_attention_chunkwise", "bf16"),
           ("attention", "attention_scalar_tiles", "fp32"), ("attention", "attention_pipelined", "fp16"), ("wkv_backward", "wkv_chunkwise_backward", "bf16"),
           ("gla_backward", "gla_chunkwise_backward", "fp32"), ("attention_backward", "attention_backward_scalar", "fp32"),
           ("attention_backward", "attention_backward_two_kernels", "bf16"), *[("attention", "attention_sm90", "bf16")] * HOPPER]
IN_ANY_ORDER = [("wkv", "wkv_chunkwise_time_parallel", "bf16"), ("linear_attention", "causal_dot_product", "fp32"), ("attention", "attention_split_keys", "bf16"), ("attention_backward", "attention_backward", "bf16"),
                *[("attention_backward", "attention_backward_sm90", "bf16")] * HOPPER]
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Call:
    """One call of the C interface with arrays at fixed addresses."""

    def __init__(self, operator, kernel, storage, seed=0):
        self.operator, self.options = operator, {"choice": kernel}
        self.inputs = {name: torch.empty(shape, dtype=TYPES[storage], device="cuda")
                       for name, shape in (("q", (B, T, H, K)), ("k", (B, T, H, K)), ("v", (B, T, H, K)))}
        q, k, v = self.inputs.values()
        states = torch.empty((B, H, K, K), device="cuda")
        if operator in ("wkv", "gla", "wkv_backward", "gla_backward"):
            self.inputs |= {"log_w": torch.empty_like(q), "initial_state": states}
            if operator.startswith("wkv"):
                self.inputs["u"] = q.new_empty((H, K))
        if operator in ("wkv", "gla"):
            self.outputs = {"o": torch.empty_like(v), "final_state": torch.empty_like(states)}
        elif operator in ("wkv_backward", "gla_backward"):
            self.inputs["d_o"] = torch.empty_like(v)
            self.outputs = {f"d{name}": torch.empty_like(x) for name, x in (("q", q), ("k", k), ("v", v), ("_log_w", q), ("_initial_state", states))}
            if operator.startswith("wkv"):
                self.outputs["du"] = torch.empty((H, K), device="cuda")
        else:
            self.outputs = {"o": torch.empty_like(v)}
        if kernel == "causal_dot_product":
            self.options |= {"feature_map": 0, "normalize": False}
        if operator.startswith("attention"):
            self.options |= {"causal": True, "scale": K ** -0.5}
            lse = torch.empty((B, H, T), device="cuda")
            self.outputs["lse"] = lse
        if operator == "attention_backward":
            self.inputs |= {"d_o": torch.empty_like(v), **self.outputs}
            self.outputs = {f"d{name}": torch.empty_like(x) for name, x in (("q", q), ("k", k), ("v", v))}
        self.draw(seed)

    def draw(self, seed):
        """Draws new numbers in the same arrays."""
        generator = torch.Generator("cuda").manual_seed(seed)
        for name, x in self.inputs.items():
            x.copy_(torch.randn(x.shape, generator=generator, device="cuda"))
        if "log_w" in self.inputs:
            self.inputs["log_w"].copy_(-torch.exp(self.inputs["log_w"].float() - 2))
        if self.operator == "attention_backward":
            o, lse = kl.attention(*(self.inputs[name] for name in "qkv"), causal=True)
            self.inputs["o"].copy_(o)
            self.inputs["lse"].copy_(lse)

    def spoil(self):
        for x in self.outputs.values():
            x.fill_(float("nan"))

    def run(self):
        kl.run(self.operator, **self.inputs, **self.outputs, **self.options)

    def direct(self):
        self.spoil()
        self.run()
        return [x.clone() for x in self.outputs.values()]

    def raw(self):
        """(library, struct) without a workspace, for the current stream."""
        library, _, args, self.views = _prepared(self.operator, {**self.inputs, **self.outputs, **self.options}, None)
        return library, args


@unittest.skipUnless(ON_A_GPU, "no GPU, or no libkernel_ladder.so in the package")
class OnGpu(unittest.TestCase):
    def assert_same(self, call, expected, exact=True):
        for (name, x), right in zip(call.outputs.items(), expected, strict=True):
            with self.subTest(output=name):
                self.assertFalse(torch.isnan(x).any())
                if exact:
                    self.assertTrue(torch.equal(x, right))
                else:
                    self.assertLess(float((x.double() - right.double()).norm() / right.double().norm()), 1e-2)


class Graphs(OnGpu):
    """Captures in mode "global" reject everything that waits, copies to the host, or allocates with
    cudaMalloc."""

    def test_a_graph_gives_what_a_call_gives_also_for_new_numbers_in_the_same_arrays(self):
        for exact, kernels in ((True, KERNELS), (False, IN_ANY_ORDER)):
            for operator, kernel, storage in kernels:
                with self.subTest(operator=operator, kernel=kernel, storage=storage):
                    call = Call(operator, kernel, storage)
                    first = call.direct()
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        call.run()
                    call.spoil()
                    graph.replay()
                    self.assert_same(call, first, exact)
                    call.draw(1)
                    second = call.direct()
                    call.spoil()
                    graph.replay()
                    self.assert_same(call, second, exact)
                    self.assertFalse(torch.equal(first[0], second[0]))

    def test_without_a_workspace_the_graph_has_its_own_memory(self):
        call = Call("wkv", "wkv_fused_recurrent", "fp32")
        first = call.direct()
        self.assertGreater(call.raw()[0].workspace("wkv", call.raw()[1]), 0)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            library, args = call.raw()
            library.run("wkv", args)
        call.spoil()
        graph.replay()
        self.assert_same(call, first)

    def test_packed_sequences_in_a_graph_may_have_other_lengths_when_it_is_replayed(self):
        draw = [torch.randn(1, T, H, K, device="cuda") for _ in range(4)]
        bounds = torch.tensor([0, 50, 60, T], device="cuda")
        o = torch.empty_like(draw[0])
        values = dict(zip("qkv", draw), log_w=-draw[3].abs(), u=draw[0][0, 0].contiguous(), cu_seqlens=bounds, o=o)
        kl.run("wkv", **values)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kl.run("wkv", **values)
        bounds.copy_(torch.tensor([0, 1, 130, T]))
        graph.replay()
        replayed = o.clone()
        kl.run("wkv", **values)
        self.assertTrue(torch.equal(o, replayed))


class Streams(OnGpu):
    def test_no_call_waits_and_all_of_it_lies_on_the_current_stream(self):
        """After a sleep of a second on the stream, the inputs are written and the call is made. It
        returns at once, and reads what was written."""
        for operator, kernel, storage in KERNELS + IN_ANY_ORDER:
            with self.subTest(operator=operator, kernel=kernel, storage=storage):
                call = Call(operator, kernel, storage)
                expected = call.direct()
                written = {name: x.clone() for name, x in call.inputs.items()}
                for x in call.inputs.values():
                    x.fill_(float("nan"))
                call.spoil()
                torch.cuda.synchronize()
                stream = torch.cuda.Stream()
                with torch.cuda.stream(stream):
                    kl.run(operator, **{name: x.clone() for name, x in {**call.inputs, **call.outputs}.items()}, **call.options)
                    stream.synchronize()  # torch's allocator now has memory for this stream
                    torch.cuda._sleep(200_000_000)  # cycles, about a tenth of a second
                    for name, x in call.inputs.items():
                        x.copy_(written[name])
                    begin = time.perf_counter()
                    call.run()
                    took = time.perf_counter() - begin
                    self.assertFalse(stream.query(), "the stream was empty before the call returned")
                self.assertLess(took, 0.05)
                torch.cuda.synchronize()
                self.assert_same(call, expected, (operator, kernel, storage) in KERNELS)

    def test_two_threads_and_two_streams_compute_what_one_does(self):
        calls = [[Call("wkv", kernel, "bf16", seed) for kernel in ("wkv_fused_recurrent", "wkv_chunkwise", "wkv_time_tiles")]
                 + [Call("attention", "attention_pipelined", "bf16", seed)] for seed in (1, 2)]
        expected = [[call.direct() for call in each] for each in calls]
        wrong = []
        together = threading.Barrier(2)
        torch.cuda.synchronize()

        def work(n):
            stream = torch.cuda.Stream()
            together.wait()
            with torch.cuda.stream(stream):
                for _ in range(50):
                    for call, right in zip(calls[n], expected[n]):
                        call.spoil()
                        call.run()
                        wrong.extend(call.options["choice"] for x, y in zip(call.outputs.values(), right) if not torch.equal(x, y))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])


def pool_attribute(which):
    """An attribute of the current device's default memory pool, CU_MEMPOOL_ATTR_..."""
    driver = ctypes.CDLL("libcuda.so.1")
    pool, value, device = ctypes.c_void_p(), ctypes.c_uint64(), torch.cuda.current_device()
    for status in (driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), device), driver.cuMemPoolGetAttribute(pool, which, ctypes.byref(value))):
        assert status == 0, status
    return value.value


RELEASE_THRESHOLD, USED = 4, 7


class Memory(OnGpu):
    def test_the_process_memory_pool_is_left_as_it_was(self):
        before = pool_attribute(RELEASE_THRESHOLD), pool_attribute(USED)
        for operator, kernel, storage in KERNELS + IN_ANY_ORDER:
            call = Call(operator, kernel, storage)
            expected = call.direct()
            library, args = call.raw()
            call.spoil()
            library.run(operator, args)
            torch.cuda.synchronize()
            self.assert_same(call, expected, (operator, kernel, storage) in KERNELS)
        self.assertEqual((pool_attribute(RELEASE_THRESHOLD), pool_attribute(USED)), before)

    def test_a_call_with_a_workspace_allocates_nothing_and_keeps_to_it(self):
        for operator, kernel, storage in KERNELS + IN_ANY_ORDER:
            with self.subTest(operator=operator, kernel=kernel, storage=storage):
                call = Call(operator, kernel, storage)
                expected = call.direct()
                library, args = call.raw()
                needed = library.workspace(operator, args)
                guarded = torch.full((needed + 512,), 99, dtype=torch.uint8, device="cuda")
                args.workspace, args.workspace_bytes = guarded.data_ptr() + 256, needed
                call.spoil()
                torch.cuda.synchronize()
                free = torch.cuda.mem_get_info()[0]
                library.run(operator, args)
                torch.cuda.synchronize()
                self.assertEqual(torch.cuda.mem_get_info()[0], free)
                self.assert_same(call, expected, (operator, kernel, storage) in KERNELS)
                self.assertTrue((guarded[:256] == 99).all() and (guarded[256 + needed:] == 99).all())
                if needed:
                    args.workspace_bytes = needed - 1
                    call.spoil()
                    with self.assertRaisesRegex(ValueError, f"workspace_bytes is {needed - 1}; this call needs more"):
                        library.run(operator, args)
                    self.assertTrue(all(torch.isnan(x).all() for x in call.outputs.values()))

    def test_out_of_memory_is_a_sentence_and_nothing_is_written(self):
        call = Call("wkv", "wkv_fused_recurrent", "fp32")
        expected = call.direct()
        library, args = call.raw()
        args.T = 1 << 33  # the arrays are not read before the workspace exists
        args.log_w_stride_B = args.T * args.log_w_stride_T
        call.spoil()
        with self.assertRaisesRegex(MemoryError, "cudaErrorMemoryAllocation"):
            library.run("wkv", args)
        torch.cuda.synchronize()
        self.assertTrue(torch.isnan(call.outputs["o"]).all())
        library, args = call.raw()
        library.run("wkv", args)  # the error has no effect on the next call
        self.assert_same(call, expected)


def said_by(code, **environment):
    """The output of a process with this code."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    return done.stdout + done.stderr[-2000:] * (done.returncode != 0)


class Errors(OnGpu):
    def test_a_pointer_to_the_host_is_refused_and_nothing_is_written(self):
        for name in ("q", "o", "workspace"):
            call = Call("wkv", "wkv_fused_recurrent", "fp32")
            call.spoil()
            library, args = call.raw()
            host = torch.zeros(1 << 20)
            setattr(args, name, host.data_ptr())
            args.workspace_bytes = host.nbytes
            with self.assertRaisesRegex(ValueError, f"{name} is a pointer to the host's memory; allowed: the device's"):
                library.run("wkv", args)
            self.assertTrue(torch.isnan(call.outputs["o"]).all())

    def test_pinned_memory_is_taken(self):
        call = Call("wkv", "wkv_time_tiles", "fp32")
        expected = call.direct()
        library, args = call.raw()
        pinned = call.inputs["v"].cpu().pin_memory()
        args.v = pinned.data_ptr()
        call.spoil()
        library.run("wkv", args)
        torch.cuda.synchronize()
        self.assert_same(call, expected)

    def test_tensors_of_two_places_are_refused(self):
        call = Call("wkv", None, "fp32")
        call.inputs["k"] = call.inputs["k"].cpu()
        with self.assertRaisesRegex(ValueError, "k lies on cpu 0; allowed: cuda 0, where q is"):
            call.run()

    @unittest.skipUnless(ON_A_GPU and torch.cuda.device_count() > 1, "one GPU alone")
    def test_another_device(self):
        call = Call("wkv", None, "fp32")
        expected = call.direct()
        library, args = call.raw()
        with torch.cuda.device(1), self.assertRaisesRegex(ValueError, "q lies on device 0; allowed: the current one, 1"):
            library.run("wkv", args)
        with torch.cuda.device(1):
            call.run()  # uses the tensors' own device
        self.assert_same(call, expected)

    def test_no_device_is_a_sentence(self):
        said = said_by("import ctypes, kernel_ladder as kl\n"
                       "from kernel_ladder import _library\n"
                       "args = _library.OPERATORS['wkv'].usual()\n"
                       "try: _library.library('cuda').run('wkv', args)\n"
                       "except RuntimeError as error: print(error)", CUDA_VISIBLE_DEVICES="")
        self.assertRegex(said, "^no usable GPU: ")

    def test_after_another_kernel_has_lost_the_gpu_it_is_said(self):
        said = said_by("import torch, kernel_ladder.torch as kt\n"
                       "x, o = torch.zeros(2, 1, 4, 1, 8, device='cuda')\n"
                       "kt.chunk_gla(x, x, x, x)\n"
                       "try: x.flatten()[torch.tensor([1 << 20], device='cuda')]; torch.cuda.synchronize()\n"
                       "except RuntimeError as error: pass\n"
                       "import kernel_ladder as kl\n"
                       "try: kl.run('gla', q=x, k=x, v=x, log_w=x, o=o)\n"
                       "except RuntimeError as error: print(type(error).__name__, error)")
        self.assertRegex(said.splitlines()[-1], "cudaErrorAssert|device-side assert")

    def test_a_kernel_of_another_gpu_is_refused(self):
        if HOPPER:
            self.skipTest("this is the GPU that it is for")
        with self.assertRaisesRegex((NotImplementedError, ValueError), "sm_90|Hopper|compute capability"):
            Call("attention", "attention_sm90", "bf16").run()


class OtherLibraries(OnGpu):
    def test_cupy_by_dlpack(self):
        try:
            import cupy
        except ImportError:
            self.skipTest("no CuPy")
        call = Call("wkv", None, "fp32")
        expected = call.direct()
        call.spoil()
        torch.cuda.synchronize()
        kl.run("wkv", **{name: cupy.from_dlpack(x) for name, x in {**call.inputs, **call.outputs}.items()})
        torch.cuda.synchronize()
        self.assert_same(call, expected)


class Training(OnGpu):
    def test_forward_and_backward_in_one_graph(self):
        """Captures autograd with our operators, like torch.cuda.make_graphed_callables."""
        leaves = [torch.randn(B, T, H, K, device="cuda", dtype=torch.bfloat16).requires_grad_() for _ in range(3)]
        gates = torch.nn.functional.logsigmoid(torch.randn(B, T, H, K, device="cuda")).bfloat16().requires_grad_()
        u = torch.randn(H, K, device="cuda", dtype=torch.bfloat16).requires_grad_()
        leaves = [*leaves, gates, u]
        d_o = torch.randn(B, T, H, K, device="cuda", dtype=torch.bfloat16)

        def step():
            return torch.autograd.grad(kt.chunk_rwkv6(*leaves)[0], leaves, d_o)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            expected = step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = step()
        graph.replay()
        for x, y in zip(captured, expected, strict=True):
            self.assertTrue(torch.equal(x, y))
