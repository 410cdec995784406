#!/usr/bin/env python3
"""Compares our kernels with public ones, with one stopwatch: first the errors,
then times in bursts and sustained.

Needs a GPU, PyTorch, and two shared libraries:
  cmake -S library -B build-library && cmake --build build-library
  cmake --preset cuda && cmake --build build-cuda --target ladder_launchers
Peers are Python packages or source trees in .peers/ (peers.py). A missing one
is listed as such.

  compare.py --warm                fills the compilers' caches, on all cores
  compare.py --out compare.json    measures; writes each case when it is done
  compare.py --table compare.json  prints the tables, on any machine"""
import argparse
import contextlib
import dataclasses
import datetime
import os
import pathlib
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "tools"), str(ROOT / "tools/upkeep")]

import cases as case_list
import ours
import peers as peer_module
import sampling
import tables
from ladder_tools.place import write_whole
from ladder_tools.recorded import as_rows
from peers import torch

if torch:
    import stopwatch
    import workloads

LARGEST_ERROR = 2e-2  # of timed results; bf16 and TF32 have about 3e-3


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, help="libladder_launchers.so; otherwise it is looked for in build*/")
    parser.add_argument("--kernels", type=pathlib.Path, help="libkernel_ladder.so; otherwise it is looked for in build*/")
    parser.add_argument("--peers", type=pathlib.Path, default=ROOT / ".peers", help="folder of the peers' sources")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="cases, as a shell pattern; may be repeated")
    parser.add_argument("--out", type=pathlib.Path, help="JSON; cases that are in it already, of the same commit, are kept and left out")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no case that would end later than this")
    parser.add_argument("--commit", help="our commit in the record (default: from git)")
    parser.add_argument("--list", action="store_true", help="the cases' names")
    parser.add_argument("--warm", action="store_true", help="only compile the peers' kernels for these cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of --warm")
    parser.add_argument("--warm-one", nargs=2, metavar=("CASE", "PEER"), help=argparse.SUPPRESS)
    parser.add_argument("--table", nargs="+", type=pathlib.Path, metavar="JSON", help="print the tables of these files")
    options = parser.parse_args(arguments)
    if options.minutes <= 0:
        parser.error(f"--minutes is {options.minutes}; allowed: more than 0")
    if options.jobs < 1:
        parser.error(f"--jobs is {options.jobs}; allowed: 1 or more")
    try:
        options.cases = case_list.chosen(options.only)
    except ValueError as error:
        parser.error(str(error))
    if not (options.list or options.warm or options.warm_one or options.table or options.out):
        parser.error("nothing to do; allowed: one of --list, --warm, --out, --table")
    return options


def find_library(given):
    found = [given] if given else sorted(ROOT.glob("build*/tools/upkeep/compare/libladder_launchers.so"), key=lambda p: p.stat().st_mtime)
    if not found or not found[-1].is_file():
        raise SystemExit(f"compare.py: {given or 'build*/tools/upkeep/compare/libladder_launchers.so'} is not there: cmake --preset cuda && "
                         "cmake --build build-cuda --target ladder_launchers")
    return found[-1]


def find_kernels(given):
    found = [given] if given else sorted(ROOT.glob("build*/libkernel_ladder.so"), key=lambda p: p.stat().st_mtime)
    if not found or not found[-1].is_file():
        raise SystemExit(f"compare.py: {given or 'build*/libkernel_ladder.so'} is not there: cmake -S library -B build-library -D KERNEL_LADDER_CUDA=ON "
                         "&& cmake --build build-library")
    return found[-1]


def said(*command):
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout
    except FileNotFoundError:
        return "unknown"
    return output.split("\n")[0].strip() or "unknown"


def conditions(options, peers):
    versions = {}
    for source, (_, _, name) in peer_module.SOURCES.items():
        try:
            versions[name] = peers.version(source)
        except peer_module.NotThere as reason:
            versions[name] = str(reason)
    try:
        import triton

        triton_version = triton.__version__
    except ImportError:
        triton_version = "not installed"
    return {"gpu": torch.cuda.get_device_name(), "driver": said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
            "cuda": torch.version.cuda, "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "triton": triton_version,
            "commit": options.commit or said("git", "describe", "--always", "--dirty"),
            "peers": versions, "opt_in": peer_module.opt_in(),
            "date": datetime.date.today().isoformat()}


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, as_rows(document) + "\n")  # a run may be stopped at any time


def row_json(side, has_whole):
    row = {"name": side.name, "ours": side.ours, "errors": side.errors, "message": side.message, "recorded": side.recorded,
           "burst": None, "sustained": None, "whole": None}
    if side.burst:
        row["burst"], row["sustained"] = sampling.summary(side.burst), sampling.summary(side.sustained)
    if has_whole and side.whole:
        row["whole"] = sampling.summary(side.whole)
    return row


def run_case(case, library, peers, settings, stream):
    """Checks and times every side of a case. If one side fails, its row gets the message, and the
    others go on."""
    device = torch.device("cuda")
    first = workloads.make_inputs(case, 1, device)
    copies = int(-(-settings.rotated_bytes // workloads.bytes_of(first)))
    data = [first] + [workloads.make_inputs(case, 1 + i, device) for i in range(1, copies)]
    for each in data:
        if case.group == "warmup":
            each["library"] = library  # a kernel of ours that only reads
    right = workloads.truth(case, first)
    torch.cuda.synchronize()
    sides, rows = [], []

    def contestant(name, is_ours, make, recorder):
        side = stopwatch.Side(name, is_ours, [], recorder)
        rows.append(side)
        try:
            side.calls.append(make(data[0]))
            outputs = side.calls[0]()
            torch.cuda.synchronize()
            side.errors = workloads.errors(case, outputs, right)
            if not all(error <= LARGEST_ERROR for error in side.errors.values()):
                side.message = "wrong: not timed"
                return
            side.calls.extend(make(each) for each in data[1:])
            sides.append(side)
        except (ours.Refused, peer_module.NotThere) as reason:
            side.message = str(reason)
        except Exception as error:  # peers may raise anything
            if is_ours:
                raise
            side.message = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"

    for name in [name for name in case.ours if name in library.names]:
        contestant(workloads.our_label(library, name, case), True,
                   lambda d, name=name: workloads.our_call(library, name, case, d), library)
    with peer_module.short_tuning(only_compile=False) if any(p.startswith("fla_") for p in case.peers) else contextlib.nullcontext():
        for peer in case.peers:
            contestant(peers.label(peer, case), False, lambda d, peer=peer: peers.call(peer, case, d),
                       library if peers.records_as_ours(peer) else None)
        for side in rows:
            error = f"error {tables.errors_text(side.errors)} " if side.errors else ""
            print(f"  {side.name:<45} {error}{side.message}", flush=True)
        result = {name: getattr(case, name) for name in ("name", "group", "operator", "precision", "sizes", "causal", "states")}
        result.update(operations=case.operations(), bytes=case.bytes(), copies=copies)
        if sides:
            result["calls_in_graph"], result["replays_in_burst"] = stopwatch.measure(sides, copies, settings, stream)
            if case.whole_call:
                stopwatch.measure_whole_calls(sides, settings)
    result["rows"] = [row_json(side, case.whole_call) for side in rows]
    for row in result["rows"]:
        if tables.measured(row):
            whole = f", whole call {tables.duration(row['whole']['seconds'])}" if row["whole"] else ""
            print(f"  {row['name']:<45} burst {tables.duration(row['burst']['seconds'])} (+-{row['burst']['spread']:.1%}), sustained "
                  f"{tables.duration(row['sustained']['seconds'])}{whole}", flush=True)
    return result


def measure_all(options):
    started = time.monotonic()
    # For PyTorch's own products. FLA's kernels choose for themselves.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    stream = torch.cuda.Stream()
    torch.cuda.set_stream(stream)
    library, peers, settings = ours.Library(find_library(options.library), find_kernels(options.kernels)), peer_module.Peers(options.peers), sampling.Settings()
    document = {"schema": tables.COMPARE, "conditions": conditions(options, peers), "settings": dataclasses.asdict(settings), "cases": []}
    if options.out.is_file():
        before = tables.read([options.out])
        if before["conditions"] == document["conditions"] and before["settings"] == document["settings"]:
            document["cases"] = before["cases"]
        else:
            raise SystemExit(f"compare.py: {options.out} was measured under other conditions; choose another file")
    done = {case["name"] for case in document["cases"]}
    longest, failed = 0.0, []
    left = [case for case in options.cases if case.name not in done]
    for i, case in enumerate(left):
        begin = time.monotonic()
        if (begin - started + longest) / 60 > options.minutes:
            print(f"--minutes {options.minutes:g}: not begun: {', '.join(each.name for each in left[i:])}")
            return 3
        print(f"{case.name}", flush=True)
        if any(peer.startswith("fla_") for peer in case.peers):
            with contextlib.suppress(ImportError):
                peers.forget_tuning()
        try:
            result = run_case(case, library, peers, settings, stream)
            torch.cuda.synchronize()
        except Exception:  # the other cases go on
            traceback.print_exc()
            failed.append(case.name)
            continue
        torch.cuda.empty_cache()
        result["seconds"] = round(time.monotonic() - begin, 1)
        longest = max(longest, result["seconds"])
        document["cases"].append(result)
        write(options.out, document)
    print(f"{len(left)} cases in {time.monotonic() - started:.0f} s" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def compilations(cases):
    """(case, peer) for each thing to compile; cases that differ only in B or T share one."""
    found = {}
    for case in cases:
        for peer in case.peers:
            if not peer.startswith(("fla_", "rwkv_", "fast_")):
                continue
            s = case.sizes
            key = (peer, case.precision == "fp32") if not peer.startswith("fla_") else \
                (peer, case.operator, case.precision, s["H"], s["K"], s["T"] == 1, s["T"] % 16 == 0,
                 s["B"] if peer != "fla_chunk" else 0)
            found.setdefault(key, (case.name, peer))
    return list(found.values())


def warm(options):
    """Runs one process for each (case, peer), several at a time, because Triton compiles kernels
    sequentially."""
    begin = time.monotonic()

    def one(case_and_peer):
        started = time.monotonic()
        done = subprocess.run([sys.executable, __file__, "--peers", options.peers, "--warm-one", *case_and_peer],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "FLA_CACHE_RESULTS": "0"})
        name, peer = case_and_peer
        last = done.stdout.strip().split("\n")[-1] if done.returncode else "ready"
        print(f"{peer} for {name}: {last} ({time.monotonic() - started:.0f} s)", flush=True)
        return done.returncode

    with ThreadPoolExecutor(options.jobs) as pool:
        statuses = list(pool.map(one, compilations(options.cases)))
    print(f"warm after {time.monotonic() - begin:.0f} s")
    return 1 if any(statuses) else 0


def warm_one(options):
    name, peer = options.warm_one
    case = next(case for case in case_list.all_cases() if case.name == name)
    peers = peer_module.Peers(options.peers)
    peers.load(peer, case)
    if peer.startswith("fla_"):
        with peer_module.short_tuning(only_compile=True):
            peers.call(peer, case, workloads.make_inputs(case, 1, torch.device("cuda")))()
        torch.cuda.synchronize()
    return 0


def main(arguments):
    os.environ.setdefault("FLA_CACHE_RESULTS", "0")  # each case is tuned in this run
    options = parse(arguments)
    if options.list:
        print("\n".join(case.name for case in options.cases))
        return 0
    if options.table:
        print(tables.render(tables.read(options.table)), end="")
        return 0
    if torch is None:
        raise SystemExit("compare.py: PyTorch is not installed")
    if options.warm_one:
        return warm_one(options)
    if options.warm:
        return warm(options)
    return measure_all(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
