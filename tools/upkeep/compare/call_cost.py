#!/usr/bin/env python3
"""What a call costs its caller if the work is short: WKV (RWKV-6) in bf16, B=1,
T=54, H=32, K=V=64, from C, from Python and with gradients, beside FLA's.

  call_cost.py --out FILE.json    measures, and prints the table
  call_cost.py --warm             compiles FLA's candidates, and ends
  call_cost.py --table FILE.json  prints the table, on any machine

Needs a GPU, PyTorch, nvcc, and libkernel_ladder.so (cmake -S library -B
build-library && cmake --build build-library). FLA is searched for as in
compare.py; without it its rows are missing.

Three columns. queued: microseconds of the host per call, in a sequence of 100
calls. whole: from a call until its result is there. device: per call in a
replayed graph of 100 calls, on the same inputs, which stay in the L2 cache."""
import argparse
import ctypes
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tools"), str(ROOT / "tools/upkeep"), str(ROOT / "library/python")]

import compare
import peers
from ladder_tools.recorded import as_rows
from peers import torch

SHAPE = {"B": 1, "T": 54, "H": 32, "K": 64}
CALLS, ROUNDS = 100, 20
COLUMNS = ("queued", "whole", "device")


def microseconds_of(call, repeat):
    begin = time.perf_counter()
    for _ in range(repeat):
        call()
    return 1e6 * (time.perf_counter() - begin) / repeat


def measured(call):
    for _ in range(5):
        call()
    queued, whole, device = [], [], []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        queued.append(microseconds_of(call, CALLS))
        torch.cuda.synchronize()
        whole.append(microseconds_of(lambda: (call(), torch.cuda.synchronize()), CALLS // 4))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    graph.replay()
    for _ in range(ROUNDS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        device.append(1e3 * begin.elapsed_time(end) / CALLS)
    return dict(zip(COLUMNS, map(statistics.median, (queued, whole, device))))


def from_c(kernels):
    """The kernel and its row from call_cost.c."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "call_cost")
        subprocess.run(["nvcc", "-O2", "-I", ROOT / "library/include", HERE / "call_cost.c", "-o", program, "-L", kernels.parent, "-lkernel_ladder",
                        "-Xlinker", f"-rpath={kernels.parent}"], check=True)
        kernel, queued, whole = subprocess.run([program, *map(str, SHAPE.values())], check=True, capture_output=True, text=True).stdout.split()
    return kernel, {"queued": float(queued), "whole": float(whole)}


def ours(kernels):
    """{name: call}"""
    import kernel_ladder
    import kernel_ladder.torch as kt
    from kernel_ladder import _library

    _library._loaded["cuda"] = _library.Library(kernels)
    x = inputs()
    o = torch.empty_like(x["v"])
    values = {"q": x["q"], "k": x["k"], "v": x["v"], "log_w": x["log_w"], "u": x["u"], "o": o}
    library, _, args, kept = kernel_ladder._prepared("wkv", values, None)
    needed = library.workspace("wkv", args)
    workspace = torch.empty(max(1, needed), dtype=torch.uint8, device="cuda")
    args.workspace, args.workspace_bytes = workspace.data_ptr(), needed
    function, reference = library.dll.kl_wkv, ctypes.byref(args)

    def ready(keeps=(kept, workspace)):
        args.stream = torch.cuda.current_stream().cuda_stream
        if function(reference) != 0:
            raise RuntimeError(library.dll.kl_error().decode())

    return {"`kl_wkv` by ctypes, the struct made before": ready, "`kernel_ladder.run`, all arrays given": lambda: kernel_ladder.run("wkv", **values),
            "`kernel_ladder.wkv`": lambda: kernel_ladder.wkv(*x.values()),
            "`kernel_ladder.torch.chunk_rwkv6`": no_gradients(kt.chunk_rwkv6, x),
            "the same, forward and backward": with_gradients(kt.chunk_rwkv6, x)}


def theirs(folder, gradients):
    case = compare.case_list.chosen([f"wkv_bf16_B{SHAPE['B']}_T{SHAPE['T']}_H{SHAPE['H']}_K{SHAPE['K']}"])[0]
    found = peers.Peers(folder)
    x = inputs()
    calls = {}
    for peer in ("fla_chunk", "fla_fused_recurrent"):
        function = found.load(peer, case)
        calls[found.label(peer, case)] = no_gradients(function, x)
        if gradients and peer == "fla_chunk":
            calls["the same, forward and backward"] = with_gradients(function, x)
    return calls, found.version("fla")


def inputs():
    B, T, H, K = SHAPE.values()
    generator = torch.Generator("cuda").manual_seed(1)

    def drawn(*shape):
        return torch.rand(shape, generator=generator, device="cuda") * 2 - 1
    x = {name: drawn(B, T, H, K).bfloat16() for name in "qkv"}
    return {**x, "log_w": -torch.exp(1.5 * drawn(B, T, H, K) - 2.5).bfloat16(), "u": drawn(H, K).bfloat16()}


def no_gradients(function, x):
    def call():
        with torch.no_grad():
            return function(*x.values())
    return call


def with_gradients(function, x):
    leaves = [value.clone().requires_grad_() for value in x.values()]
    d_o = torch.ones_like(x["v"])
    return lambda: torch.autograd.grad(function(*leaves)[0], leaves, d_o)


def row_of(name, call):
    try:
        return {"name": name, **measured(call)}
    except (RuntimeError, ValueError) as error:
        return {"name": name, "message": str(error).splitlines()[0]}


def measure(options):
    kernels = compare.find_kernels(options.kernels).resolve()
    kernel, row = from_c(kernels)
    rows = [{"name": "`kl_wkv` from C", **row}, *(row_of(*each) for each in ours(kernels).items())]
    conditions = f"commit {compare.said('git', 'describe', '--always', '--dirty')}, {datetime.date.today()}; torch {torch.__version__}"
    with peers.short_tuning(only_compile=False):
        try:
            calls, version = theirs(options.peers, options.gradients)
            rows += [row_of(*each) for each in calls.items()]
            conditions += f", FLA {version[:8]}"
        except peers.NotThere as reason:
            print(f"FLA: {reason}", file=sys.stderr)
    document = recorded(torch.cuda.get_device_name(), f"{conditions}; our kernel is {kernel}", rows)
    options.out.write_text(as_rows(document) + "\n")
    table(document)


def recorded(machine, conditions, rows):
    """The document in the form of records/."""
    cells = [[row["name"], *(f"{row[column]:.1f}" if column in row else "-" for column in COLUMNS)] for row in rows]
    return {"schema": "kernel-ladder/tables/1", "tables": {"call_cost": {
        "machine": machine, "conditions": conditions, "messages": [row["message"] for row in rows if "message" in row],
        "columns": ["us per call", *COLUMNS], "align": "lrrr", "rows": cells}}}


def table(document):
    its = document["tables"]["call_cost"]
    print("| " + " | ".join(its["columns"]) + " |\n|---|---:|---:|---:|")
    for row in its["rows"]:
        print(f"| {' | '.join(row)} |")
    print(f"\n{its['machine']}, {its['conditions']}.", *its["messages"], sep="\n")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=pathlib.Path, help="libkernel_ladder.so; otherwise it is looked for in build*/")
    parser.add_argument("--peers", type=pathlib.Path, default=ROOT / ".peers", help="folder of the peers' sources")
    parser.add_argument("--gradients", action="store_true", help="FLA forward and backward too: its tuning takes minutes")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--out", type=pathlib.Path)
    action.add_argument("--warm", action="store_true")
    action.add_argument("--table", type=pathlib.Path, metavar="JSON")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    if options.table:
        return table(json.loads(options.table.read_text()))
    os.environ["FLA_CACHE_RESULTS"] = "0"
    if options.warm:
        with peers.short_tuning(only_compile=True):
            for call in theirs(options.peers, options.gradients)[0].values():
                call()
        return None
    return measure(options)


if __name__ == "__main__":
    sys.exit(main())
