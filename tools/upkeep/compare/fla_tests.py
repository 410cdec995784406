#!/usr/bin/env python3
"""Runs FLA's own tests of RWKV-6, GLA and linear attention, unchanged, with one
of FLA's functions at a time replaced by ours of the same name. Needs a GPU,
PyTorch, Triton, pytest, and the package kernel_ladder (./ladder python).

  fla_tests.py run CHECKOUT --out DIR     DIR/NAME.json for each function, and
                                          nothing.json with none replaced
  fla_tests.py table DIR                  what passes, what fails, and what does
                                          not apply, in Markdown

CHECKOUT is a tree of flash-linear-attention, with a file COMMIT if it has no
.git. Triton takes the first candidate that runs, because nothing is timed."""
import argparse
import concurrent.futures
import functools
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NOTHING = "nothing"
# {function: module of fla.ops, file of tests}
FUNCTIONS = {"chunk_rwkv6": "rwkv6", "fused_recurrent_rwkv6": "rwkv6", "chunk_gla": "gla", "fused_recurrent_gla": "gla",
             "chunk_linear_attn": "linear_attn", "fused_chunk_linear_attn": "linear_attn", "fused_recurrent_linear_attn": "linear_attn"}
# environment variables for pytest's processes
REPLACED, CHECKOUT, REPORT = "FLA_TESTS_REPLACED", "FLA_TESTS_CHECKOUT", "FLA_TESTS_REPORT"

# ---- In pytest's processes, as its plugin (-p fla_tests) ----

seen = []  # in the current test: "" for each call of ours, or why it was rejected
reports = []


def replace(name):
    """Replaces the function in FLA's modules before a test imports them."""
    ours = getattr(importlib.import_module("kernel_ladder.torch"), name)

    @functools.wraps(ours)
    def counted(*arguments, **options):
        seen.append("")
        try:
            return ours(*arguments, **options)
        except (TypeError, ValueError, NotImplementedError) as error:
            seen.append(str(error))
            raise

    counted.__name__ = name
    package = importlib.import_module(f"fla.ops.{FUNCTIONS[name]}")
    for module in (package, sys.modules[getattr(package, name).__module__]):
        setattr(module, name, counted)


def take_the_first_candidate_that_runs():
    from triton.runtime.autotuner import Autotuner

    bench = Autotuner._bench

    def first(self, *arguments, config, **options):
        if getattr(self, "has_one_for", None) is self.nargs:
            return [float("inf")] * 3
        times = bench(self, *arguments, config=config, **options)
        if times[0] != float("inf"):
            self.has_one_for = self.nargs
        return times

    Autotuner._bench = first
    Autotuner.do_bench = property(lambda self: lambda call, quantiles=None, **_: [call(), [1.0] * 3][1])


def uses(item, name):
    given = getattr(item, "callspec", None)
    if given is not None and "fn" in given.params:  # a test that gets the function as a parameter
        return given.params["fn"].__name__ == name
    return re.search(rf"\b{name}\(", inspect.getsource(item.function)) is not None


def pytest_collection_modifyitems(config, items):
    name = os.environ[REPLACED]
    if name != NOTHING:
        items[:] = [item for item in items if uses(item, name)]


def pytest_runtest_setup(item):
    seen.clear()


def pytest_runtest_makereport(item, call):
    if call.when == "call":
        item.user_properties.append(("ours", list(seen)))


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        said = [line.removeprefix("E").strip() for line in report.longreprtext.splitlines() if line.startswith("E ")]
        reports.append({"test": report.nodeid, "outcome": report.outcome, "ours": dict(report.user_properties).get("ours", []),
                        "said": said[0] if said else ""})


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        pathlib.Path(os.environ[REPORT]).write_text(json.dumps(sorted(reports, key=lambda each: each["test"]), indent=1) + "\n")


def prepare():
    sys.path.append(str(HERE))
    import peers

    peers.import_fla(pathlib.Path(os.environ[CHECKOUT]))
    take_the_first_candidate_that_runs()
    if os.environ[REPLACED] != NOTHING:
        replace(os.environ[REPLACED])


if REPLACED in os.environ and __name__ == "fla_tests":
    prepare()  # before tests/conftest.py imports all of FLA

# ---- The command ----


def run_one(name, options):
    """Runs the tests with this function replaced; returns pytest's output if it could not run."""
    report = options.out / f"{name}.json"
    kinds = sorted(set(FUNCTIONS.values())) if name == NOTHING else [FUNCTIONS[name]]
    tests = [f"tests/ops/test_{kind}.py" for kind in kinds]
    workers = ["-n", str(options.workers)] if importlib.util.find_spec("xdist") else []
    environment = {**os.environ, REPLACED: name, CHECKOUT: str(options.checkout), REPORT: str(report), "FLA_CACHE_RESULTS": "0",
                   "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "fla_tests", "-o", "log_cli=false", "--tb=short", *workers, *tests],
                          cwd=options.checkout, env=environment, capture_output=True, text=True, check=False)
    (options.out / f"{name}.log").write_text(done.stdout + done.stderr)
    return "" if done.returncode in (0, 1) and report.exists() else (done.stdout + done.stderr)[-1500:]


def run(options):
    sys.path.append(str(HERE))
    from peers import commit_of

    options.checkout, options.out = options.checkout.resolve(), options.out.resolve()
    if not (options.checkout / "tests/ops/test_gla.py").is_file():
        raise SystemExit(f"fla_tests.py: {options.checkout} has no tests/ops/test_gla.py; allowed: a tree of flash-linear-attention")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "COMMIT").write_text(commit_of(options.checkout) + "\n")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(len(options.replace)) as pool:
        for name, said in zip(options.replace, pool.map(lambda each: run_one(each, options), options.replace)):
            if said:
                print(f"{name}: pytest did not run:\n{said}", file=sys.stderr)
                failed = 1
    return failed


def verdict(report, alone):
    """(pass, fail or does not apply; the reason). `alone`: the test's result with nothing
    replaced."""
    refused = [each for each in report["ours"] if each]
    if report["outcome"] == "skipped" or not report["ours"]:
        return "does not apply", report["said"] or "it does not come to a call of ours"
    if report["outcome"] == "passed":
        return "pass", ""
    if refused:
        return "does not apply", refused[-1]
    return "fail", report["said"] + ("" if alone in ("passed", None) else f" (with nothing replaced it {alone} too)")


def tables_of(folder):
    """The document in the form of records/."""
    read = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    alone = {each["test"]: each["outcome"] for each in read.get(NOTHING, [])}
    counts, others = [], []
    for name, kind in FUNCTIONS.items():
        verdicts = [(each["test"].split("::")[-1], *verdict(each, alone.get(each["test"]))) for each in read.get(name, [])]
        numbers = [str(sum(each[1] == which for each in verdicts)) for which in ("pass", "fail", "does not apply")]
        counts.append([f"`{name}`", f"`test_{kind}.py`", *(numbers if name in read else ["not run", "", ""])])
        others += [[f"`{name}`", f"`{test}`", f"{what}: {why}"] for test, what, why in verdicts if what != "pass"]
    if alone:
        passed = sum(outcome == "passed" for outcome in alone.values())
        counts.append(["nothing", "all three", str(passed), str(len(alone) - passed), "-"])
    commit = (folder / "COMMIT").read_text().strip()
    return {"schema": "kernel-ladder/tables/1", "tables": {
        "fla_tests": {"conditions": f"flash-linear-attention {commit}", "align": "llrrr", "rows": counts,
                      "columns": ["replaced by ours", "FLA's tests", "pass", "fail", "do not apply"]},
        "fla_tests_not_passed": {"conditions": f"flash-linear-attention {commit}", "align": "lll", "rows": others,
                                 "columns": ["replaced by ours", "test", ""]}}}


def table(folder):
    for each in tables_of(folder)["tables"].values():
        print("| " + " | ".join(each["columns"]) + " |", "|" + "|".join("---:" if side == "r" else "---" for side in each["align"]) + "|",
              *(f"| {' | '.join(row)} |" for row in each["rows"]), f"\n{each['conditions']}.\n", sep="\n")
    return 0


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("checkout", type=pathlib.Path)
    runs.add_argument("--out", type=pathlib.Path, required=True)
    runs.add_argument("--replace", nargs="+", default=[*FUNCTIONS, NOTHING], choices=[*FUNCTIONS, NOTHING], metavar="NAME")
    runs.add_argument("--workers", type=int, default=2, help="processes of each pytest; as many pytests run as functions are replaced")
    tables = commands.add_parser("table")
    tables.add_argument("folder", type=pathlib.Path)
    tables.add_argument("--out", type=pathlib.Path, help="for records/: JSON")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    if options.command == "run":
        return run(options)
    if options.out:
        sys.path.append(str(HERE.parents[1]))
        from ladder_tools.recorded import as_rows
        options.out.write_text(as_rows(tables_of(options.folder)) + "\n")
    return table(options.folder)


if __name__ == "__main__":
    sys.exit(main())
