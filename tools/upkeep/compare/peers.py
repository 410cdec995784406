"""The public kernels, as Python packages or as source trees in .peers/NAME of the repository's
root, which git ignores.

A missing peer is reported as "not installed", with the places searched. This module downloads and
stores nothing."""
import contextlib
import importlib
import importlib.metadata
import importlib.util
import pathlib
import subprocess
import sys
import types

from cases import BITS

try:
    import torch
except ImportError:  # listing cases, finding peers and printing tables work without it
    torch = None


class NotThere(Exception):
    """The reason why a peer cannot be compared."""


# {source: folder in .peers, Python package, name in tables}
SOURCES = {
    "fla": ("flash-linear-attention", "fla", "FLA"),
    "rwkv_cuda": ("RWKV-CUDA", None, "RWKV-CUDA"),
    "fast_transformers": ("fast-transformers", "fast_transformers", "fast-transformers"),
}


# Python packages that would enable kernels that are off by default
OPT_IN = {"tilelang": "FLA's TileLang kernel of RWKV-6"}


def opt_in():
    """{a peer's further kernels that are not timed: whether their requirements are installed}"""
    return {kernels: "installed, not switched on" if importlib.util.find_spec(package) else f"not installed ({package})"
            for package, kernels in OPT_IN.items()}


# by the cases' groups
FLA_KINDS = {"wkv": "rwkv6", "gla": "gla", "linear_attention": "linear_attn"}


def commit_of(tree):
    """The commit from a file COMMIT, otherwise from git, or "unknown"."""
    note = tree / "COMMIT"
    if note.is_file():
        return note.read_text().strip()
    if (tree / ".git").exists():
        said = subprocess.run(["git", "-C", str(tree), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        if said.returncode == 0:
            return said.stdout.strip()
    return "unknown"


def import_fla(tree):
    """Makes FLA's operators importable from its tree or, with None, from the package, one by one,
    because its __init__ files import every operator, layer and model."""
    if tree is not None:
        sys.path.insert(0, str(tree))
    operators = types.ModuleType("fla.ops")
    operators.__path__ = [str(pathlib.Path(importlib.util.find_spec("fla").origin).parent / "ops")]
    sys.modules["fla.ops"] = operators
    # fla imports its layers and models if they exist, and they import all operators again.
    optional = {name: None for name in ("fla.layers", "fla.models")}
    sys.modules.update(optional)
    importlib.import_module("fla")
    for name in optional:
        del sys.modules[name]


class Peers:
    """Finds the peers and their versions, and loads each on demand, once."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self._loaded = {}

    def tree(self, source):
        """The folder in .peers, or None."""
        path = self.folder / SOURCES[source][0]
        return path if path.is_dir() else None

    def version(self, source):
        """The commit of the tree or the version of the package. Raises NotThere."""
        folder, package, _ = SOURCES[source]
        tree = self.tree(source)
        if tree is not None:
            return commit_of(tree)
        if package is not None and importlib.util.find_spec(package) is not None:
            return importlib.metadata.version(importlib.metadata.packages_distributions()[package][0])
        raise NotThere(f"not installed: .peers/{folder} is not there" + (f", nor a Python package {package}" if package else ""))

    def _load(self, key, make):
        if key not in self._loaded:
            try:
                self._loaded[key] = make()
            except NotThere as reason:
                self._loaded[key] = reason
            except Exception as error:  # a peer's import or build may raise anything
                self._loaded[key] = NotThere(f"cannot be loaded: {type(error).__name__}: {str(error).splitlines()[0]}")
        if isinstance(self._loaded[key], NotThere):
            raise self._loaded[key]
        return self._loaded[key]

    def label(self, peer, case):
        """The peer's name in the tables."""
        if case.group == "warmup":
            torch_name = {"vector_add": "torch.add", "transpose": "x.t().contiguous() in PyTorch", "sum": "torch.sum",
                          "softmax": "torch.softmax", "rms_norm": "rms_norm in PyTorch", "matmul": "torch.matmul (cuBLAS)",
                          "batched_matmul": "torch.baddbmm and gelu (cuBLAS)", "conv2d": "conv2d in PyTorch (cuDNN)"}
            return {"torch": torch_name.get(case.operator), "torch_dequantised": "PyTorch: weights made fp32, then torch.matmul",
                    "torch_ready": "torch.matmul of fp32 weights", "torch_int4pack": "torch._weight_int4pack_mm, bf16", "copy": "ceiling: a copy of as many bytes", "read": "ceiling: reading alone"}[peer]
        import_name = {"cudnn_bthd": "cuDNN, (B, T, H, D)", "cudnn_bhtd": "cuDNN, (B, H, T, D)",
                       "flash_attention_2": "FlashAttention-2 in PyTorch", "rwkv_cuda": "RWKV-CUDA wkv6 v1a",
                       "fast_transformers": "fast-transformers causal_product"}
        return import_name.get(peer) or f"FLA {self._function_name(peer, case)}"

    @staticmethod
    def _function_name(peer, case):
        return f"{peer.removeprefix('fla_')}_{FLA_KINDS[case.group]}"

    def _fla(self, case):
        """One module of FLA's operators."""
        def package():
            self.version("fla")
            import_fla(self.tree("fla"))

        self._load("fla", package)
        module = f"fla.ops.{FLA_KINDS[case.group]}"
        return self._load(module, lambda: importlib.import_module(module))

    def forget_tuning(self):
        """Forgets tuning, so that each case is tuned for itself. Triton's keys do not contain the
        whole shape."""
        from triton.runtime.autotuner import Autotuner

        for name, module in list(sys.modules.items()):
            if not name.startswith("fla."):
                continue
            for value in list(vars(module).values()):
                for _ in range(3):  # inside heuristics and backends
                    if isinstance(value, Autotuner):
                        value.cache.clear()
                        break
                    value = getattr(value, "fn", None)

    def _rwkv_cuda(self, element):
        def build():
            self.version("rwkv_cuda")
            tree = self.tree("rwkv_cuda") / "wkv6" / "cuda"
            made = self.folder / "build" / f"wkv6_{element}"
            made.mkdir(parents=True, exist_ok=True)
            files = []
            for name in ("wkv6_op.cpp", "wkv6_cuda_v1a.cu"):
                text = (tree / name).read_text()
                # the kernels are templates over the element, and only this line sets it
                if element == "fp32":
                    text = text.replace("typedef at::BFloat16 bf16;", "typedef float bf16;")
                text = text.replace("TORCH_LIBRARY(wkv6, m)", f"TORCH_LIBRARY(wkv6_{element}, m)")
                if not (made / name).is_file() or (made / name).read_text() != text:
                    (made / name).write_text(text)
                files.append(str(made / name))
            # run.py's flags, and the stream from which a graph can be captured.
            return _extension(f"wkv6_{element}", files, made,
                              ["--use_fast_math", "-O3", "-Xptxas", "-O3", "--extra-device-vectorization", "-D_N_=64",
                               "-D_T_=4096"])

        return self._load(f"wkv6_{element}", build)

    def _fast_transformers(self):
        def build():
            self.version("fast_transformers")
            tree = self.tree("fast_transformers")
            if tree is None:
                return importlib.import_module("fast_transformers.causal_product.causal_product_cuda")
            made = self.folder / "build" / "causal_product"
            made.mkdir(parents=True, exist_ok=True)
            return _extension("causal_product_cuda",
                              [str(tree / "fast_transformers" / "causal_product" / "causal_product_cuda.cu")], made, ["-O3"])

        return self._load("causal_product", build)

    def load(self, peer, case):
        """Imports or builds what the peer needs. Raises NotThere."""
        if peer.startswith("fla_"):
            return getattr(self._fla(case), self._function_name(peer, case))
        if peer == "rwkv_cuda":
            return self._rwkv_cuda("fp32" if case.precision == "fp32" else "bf16")
        if peer == "fast_transformers":
            return self._fast_transformers()
        return None

    def call(self, peer, case, data):
        """A function without arguments that runs the peer on these inputs and returns {name:
        tensor} in our layout."""
        loaded = self.load(peer, case)
        if peer.startswith("fla_"):
            return _fla_call(loaded, case, data)
        if peer == "rwkv_cuda":
            return _rwkv_cuda_call(loaded, case, data)
        if peer == "fast_transformers":
            return _fast_transformers_call(loaded, data)
        if case.group == "warmup":
            return _warmup_call(peer, case, data)
        return _sdpa_call(peer, case, data)

    @staticmethod
    def records_as_ours(peer):
        """Whether it launches into the thread's default stream instead of PyTorch's."""
        return peer in ("rwkv_cuda", "fast_transformers", "copy", "read")


def _extension(name, files, folder, flags):
    from torch.utils.cpp_extension import load

    return load(name=name, sources=files, build_directory=str(folder), with_cuda=True,
                extra_cuda_cflags=[*flags, "--default-stream=per-thread"])


def _fla_call(function, case, d):
    if case.group == "linear_attention":
        def call():
            with torch.no_grad():
                return {"o": function(d["q"], d["k"], d["v"], scale=1.0, normalize=False)[0]}

        return call
    bonus = ("u",) if case.group == "wkv" else ()
    names = ("q", "k", "v", "log_w", *bonus)
    if case.backward:
        leaves = [d[name].detach().requires_grad_() for name in names]

        def call():
            o = function(*leaves, scale=d["scale"])[0]
            gradients = torch.autograd.grad(o, leaves, d["d_o"])
            return {"o": o.detach(), **{f"d{'_' if name == 'log_w' else ''}{name}": g for name, g in zip(names, gradients)}}

        return call
    inputs = [d[name] for name in names]

    def call():
        with torch.no_grad():
            o, state = function(*inputs, scale=d["scale"], initial_state=d.get("initial_state"),
                                output_final_state=case.states)
        return {"o": o, "final_state": state} if case.states else {"o": o}

    return call


def _rwkv_cuda_call(module, case, d):
    s = case.sizes
    C = s["H"] * s["K"]
    r, k, v = (d[name].view(s["B"], s["T"], C) for name in ("q", "k", "v"))
    w = d["log_w"].float().view(s["B"], s["T"], C)  # it always takes the log decay in fp32
    o = torch.empty_like(v)
    outputs = {"o": o.view(s["B"], s["T"], s["H"], s["V"])}

    def call():
        module.forward(s["B"], s["T"], C, s["H"], r, k, v, w, d["u"], o)
        return outputs

    return call


def _fast_transformers_call(module, d):
    q, k, v = (d[name].transpose(1, 2).contiguous() for name in ("q", "k", "v"))
    o = torch.empty_like(v)
    outputs = {"o": o.transpose(1, 2)}

    def call():
        module.causal_dot_product(q, k, v, o)
        return outputs

    return call


def _warmup_call(peer, case, d):
    if peer in ("copy", "read"):  # ceilings have no result to check
        elements = case.bytes() // 4  # as many bytes as the operator moves
        if peer == "read":
            run = d["library"].read(torch.rand(elements, dtype=torch.float32, device="cuda"))
        else:
            source = torch.zeros(elements // 8 * 4, dtype=torch.float32, device="cuda")
            run = d["library"].copy(source, torch.empty_like(source))
        return lambda: (run(), {})[1]
    y = torch.empty(d["y_shape"], dtype=next(value for value in d.values() if isinstance(value, torch.Tensor)).dtype, device="cuda")
    if case.operator in BITS:
        return _low_bit_call(peer, case, d, y)
    if case.operator == "batched_matmul":
        b = d["b"].expand(case.sizes["B"], -1, -1)
        return lambda: {"y": torch.nn.functional.gelu(torch.baddbmm(d["bias"], d["a"], b))}
    call = {"vector_add": lambda: torch.add(d["a"], d["b"], out=y),
            "transpose": lambda: y.copy_(d["x"].t()),
            "sum": lambda: torch.sum(d["x"], dim=0, keepdim=True, out=y),
            "softmax": lambda: torch.softmax(d["x"], -1, out=y),
            "rms_norm": lambda: torch.nn.functional.rms_norm(d["x"], (case.sizes["N"],), d["weight"], 1e-5),
            "conv2d": lambda: torch.nn.functional.conv2d(d["x"], d["weight"], d["bias"], case.sizes.get("stride"), case.sizes.get("pad")),
            "matmul": lambda: torch.matmul(d["a"], d["b"], out=y)}[case.operator]
    return lambda: {"y": call()}


def _low_bit_call(peer, case, d, y):
    from workloads import dequantised, weights_of

    if peer == "torch_dequantised":
        return lambda: {"y": torch.matmul(d["a"], dequantised(case, d, torch.float32), out=y)}
    if peer == "torch_ready":
        weights = dequantised(case, d, torch.float32)
        return lambda: {"y": torch.matmul(d["a"], weights, out=y)}
    if not hasattr(torch, "_weight_int4pack_mm"):
        raise NotThere(f"PyTorch {torch.__version__} has no torch._weight_int4pack_mm")
    # Its weights are (N, K), two per byte, the first in the higher half. Its zero point belongs to
    # q - 8 and is multiplied by the scale.
    q = weights_of(case, d).t().contiguous()
    packed = torch._convert_weight_to_int4pack(q[:, 0::2] << 4 | q[:, 1::2], 8)
    middle = (8 - d["zero"].float()) * d["scale"]
    scales = torch.stack((d["scale"], middle), dim=-1).bfloat16().contiguous()  # (groups, N, 2)
    a = d["a"].bfloat16()
    return lambda: {"y": torch._weight_int4pack_mm(a, packed, case.sizes["GROUP"], scales)}


def _sdpa_call(peer, case, d):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    backend = SDPBackend.FLASH_ATTENTION if peer == "flash_attention_2" else SDPBackend.CUDNN_ATTENTION

    def in_layout(name):  # (B, H, T, D) for PyTorch, in memory as the peer's name says
        tensor = d[name].transpose(1, 2)
        return tensor.contiguous() if peer == "cudnn_bhtd" else tensor

    q, k, v = (in_layout(name).detach().requires_grad_(case.backward) for name in ("q", "k", "v"))
    options = {"is_causal": case.causal, "enable_gqa": case.sizes["H_q"] != case.sizes["H_kv"]}
    if not case.backward:
        def call():
            with torch.no_grad(), sdpa_kernel(backend):
                return {"o": scaled_dot_product_attention(q, k, v, **options).transpose(1, 2)}

        return call
    with sdpa_kernel(backend):
        o = scaled_dot_product_attention(q, k, v, **options)
    d_o = in_layout("d_o")

    def call():
        gradients = torch.autograd.grad(o, (q, k, v), d_o, retain_graph=True)
        return {name: g.transpose(1, 2) for name, g in zip(("dq", "dk", "dv"), gradients)}

    return call


@contextlib.contextmanager
def short_tuning(only_compile):
    """Limits Triton's autotuner to 20 ms per candidate or, to fill its cache, to one call of
    each."""
    import triton
    from triton.runtime.autotuner import Autotuner

    def one_call(call, quantiles=None, **_):
        call()
        return [1.0] * len(quantiles or (1,))

    def short(call, quantiles=None, **_):
        return triton.testing.do_bench(call, warmup=5, rep=20, quantiles=quantiles)

    before = Autotuner.__dict__.get("do_bench")
    Autotuner.do_bench = property(lambda self: one_call if only_compile else short)
    try:
        yield
    finally:
        if before is None:
            del Autotuner.do_bench
        else:
            Autotuner.do_bench = before
