"""./ladder which names the kernel for a shape, its recorded time, and the reason. ./ladder compare
measures ours beside installed public kernels."""
import functools
import json
import math
import re
import subprocess
import sys
from pathlib import Path

from ladder_tools.building import Build, ask_nvidia, run_program
from ladder_tools.place import ROOT, Failed, Refused, refused, text_of
from ladder_tools.programs import named_shapes, require_known
from ladder_tools.recorded import BEST, best_rows, documents, is_old, launched_today, runs_of
from ladder_tools.rows import operators

_BEST = "library/best/operators.inc"
_STATES = {"initial_state", "final_state"}
_FOR_RECORDS = {"causal"}  # not in the rules of attention, but in its records


@functools.cache
def _of_rules():
    """The operators with rules, and the storages of each; the usual sizes; and (size, operator) of
    optional sizes, also for gradients."""
    text, storages = text_of(_BEST), {}
    for operator, storage in re.findall(r"^RULES\((\w+), (\w+),", text, re.MULTILINE):
        storages.setdefault(operator, []).append(storage)
    usual = {name: int(size) for name, size in re.findall(r"^USUAL\((\w+), (\d+)\)", text, re.MULTILINE)}
    return storages, usual, re.findall(r"^OPTIONAL\((\w+), (\w+)\)", text, re.MULTILINE)


def duration(seconds):
    unit, name = next(((unit, name) for unit, name in ((1, "s"), (1e-3, "ms")) if seconds >= unit), (1e-6, "us"))
    return f"{seconds / unit:.3g} {name}"


def shape_text(shape):
    return ", ".join(f"{name}={size}" for name, size in shape.items())


class Recorded:
    """A time in records/. `old`: an earlier version of the kernel was measured."""

    def __init__(self, implementation, seconds, shape, precision, options, where, old=False):
        self.implementation, self.seconds, self.shape, self.precision, self.options = implementation, seconds, shape, precision, options
        self.where = where + ("; an earlier version of this kernel" if old else "")


def _options_of(run):
    chosen = {name for name, value in (run.get("options") or {}).items() if value not in ("false", "")}
    return frozenset(chosen | ({"causal"} if run.get("causal") else set()) | (_STATES if run.get("states") else set()))


def recorded(operator):
    """Every time of a right result of this operator on a GPU."""
    found, today = [], launched_today(ROOT / "records")
    for path, document in documents(ROOT / "records"):
        for run in runs_of(document):
            if run["operator"] == operator:
                found += [Recorded(row["implementation"], row["seconds"], run["shape"], run.get("precision", "fp32"), _options_of(run),
                                   f"{row['device']}, {run['date']}, records/{path.name}", is_old(row, run["name"], row["implementation"], today))
                          for row in run["rows"] if row.get("seconds") and row.get("right", True) and "NVIDIA" in row.get("device", "")]
        if document.get("schema") == BEST:
            found += [Recorded(name, seconds, {"B": 1, **shape}, group["precision"], frozenset(),
                               f"{document['run']['device']}, {document['run']['date']}, records/{path.name}")
                      for group, shape, times in best_rows(document) if group["operator"] == operator for name, seconds in times.items()]
    return found


def _asked_shape(words):
    """{size: number} of "B=8,T=4096", or of a named shape."""
    named = named_shapes()
    if words in named:
        return named[words]
    shape, of_both = {}, None
    for item in words.split(",") if words else []:
        name, equals, size = item.partition("=")
        each = {"D": "K", "D_v": "V"}.get(name, name)
        if each in shape:
            raise Refused(f"shape: {name} is given twice; allowed: once")
        shape[each] = int(size)
        of_both = int(size) if name == "D" else of_both
    return shape if of_both is None else {"V": of_both, **shape}


def _matches(asked, one):
    """Whether a recorded shape has the requested sizes."""
    return all(one.get(name) == size for name, size in asked.items())


def _as_heads(shape):
    """The shape with B * H as one size, because kernels of a recurrence use only the product."""
    return {**{name: size for name, size in shape.items() if name not in "BH"}, "heads": shape["B"] * shape["H"]}


def _far(asked, one):
    return sum(abs(math.log2(max(1, one.get(name, 1)) / max(1, size))) for name, size in asked.items())


def _with_rules(operator, precisions, asked, program, options=frozenset()):
    shape = {**_of_rules()[1], **asked}
    print(f"{operator}, {shape_text(shape)}{''.join(', ' + name for name in sorted(options))}; the rules of an H200 (132 SMs)")
    for precision in precisions:
        said = subprocess.run([program, operator, precision, *(f"{name}={size}" for name, size in shape.items())], capture_output=True, text=True)
        if said.returncode:
            raise Failed(f"best_which: {said.stderr.strip()}")
        choice = json.loads(said.stdout)
        print(f"\n{precision}: {choice['kernel']}\n  why: {choice['rule']}")
        for name, us in sorted(choice["compared"].items(), key=lambda each: each[1]):
            print(f"       {name:<30} about {duration(us * 1e-6)}")
        times = [each for each in recorded(operator) if each.precision == precision and each.options == options]
        here = sorted((each for each in times if _as_heads(each.shape) == _as_heads(shape)), key=lambda each: each.seconds)
        chosen = [each for each in here if each.implementation == choice["kernel"]]
        if chosen:
            print(f"  recorded: {duration(chosen[0].seconds)} ({shape_text(chosen[0].shape)}; {chosen[0].where})")
        else:
            near = min((each for each in times if each.implementation == choice["kernel"]), default=None,
                       key=lambda each: _far(_as_heads(shape), _as_heads(each.shape)))
            print("  recorded: not for this shape" + (f"; the nearest: {duration(near.seconds)} ({shape_text(near.shape)}; {near.where})" if near else ""))
    return 0


def _by_records(operator, precisions, asked, options):
    times = [each for each in recorded(operator) if not precisions or each.precision in precisions]
    if not times:
        print(f"{operator}: no time on a GPU is recorded{' in ' + precisions[0] if precisions else ''}. ./ladder run --operator {operator} measures one if you have a GPU")
        return 0
    fits = [each for each in times if _matches(asked, each.shape) and options <= each.options]
    if not fits:
        with_options = [each for each in times if options <= each.options] or times
        near = min(with_options, key=lambda each: (_far(asked, each.shape), each.seconds))
        fits = [each for each in with_options if each.shape == near.shape]
        print(f"{operator}: nothing is recorded for {shape_text(asked)}{''.join(', ' + name for name in sorted(options))}; the nearest recorded shape:")
    groups = {}
    for each in fits:
        groups.setdefault((shape_text(each.shape), each.precision, ", ".join(sorted(each.options))), []).append(each)
    for (shape, precision, words), group in groups.items():
        group.sort(key=lambda each: each.seconds)
        best = group[0]
        print(f"{operator}, {shape}{'; ' + words if words else ''}; {precision}: {best.implementation}")
        print(f"  why: the fastest of {len({each.implementation for each in group})} recorded kernels; this operator has no rules")
        print(f"  recorded: {duration(best.seconds)} ({best.where})")
    return 0


def which(words, preset, caller):
    """usage: which OPERATOR [B=8,T=4096] [--precision bf16] [--options causal]"""
    del caller
    usage = "which takes an operator, a shape such as B=8,T=4096 or a known name, --precision and --options"
    words, given, places = list(words), {}, []
    while words:
        word = words.pop(0)
        option, equals, value = word.partition("=")
        if not word.startswith("-"):
            places.append(word)
            continue
        if option not in ("--precision", "--options"):
            raise refused("option", option, ["--precision", "--options"])
        if not equals:
            if not words:
                raise Refused(f"{option} needs a value; allowed: {option} VALUE")
            value = words.pop(0)
        if option in given:
            raise Refused(f"{option} is given twice; allowed: once")
        given[option] = [value]
    if not 1 <= len(places) <= 2:
        raise Refused(f"{usage}; given: {len(places)} words")
    operator, shape = places[0], (places + [""])[1]
    if operator not in operators():
        raise refused("operator", operator, operators())
    if shape:
        given["--shape"] = [shape]
    require_known(given)
    asked = _asked_shape(shape)
    precisions = given.get("--precision", [])
    options = frozenset(item for text in given.get("--options", []) for item in text.split(",") if item)
    with_rules, usual, optional = _of_rules()
    storages = with_rules.get(operator)
    if storages is None:
        return _by_records(operator, precisions, asked, options)
    known = [*usual, *(name for name, owner in optional if operator in (owner, f"{owner}_backward"))]
    unknown = next((name for name in asked if name not in known), None)
    if unknown:
        raise refused("size", unknown, known)
    if precisions and precisions[0] not in storages:
        raise refused("--precision", precisions[0], storages)
    no_rule = options - (_FOR_RECORDS if operator.startswith("attention") else set())
    if no_rule:
        raise Refused(f"--options is '{','.join(sorted(no_rule))}'; allowed for {operator}: "
                      f"{', '.join(_FOR_RECORDS) if operator.startswith('attention') else 'none'}; the rules depend on sizes and storage only")
    build = Build(preset)
    build.prepare("best_which")
    build.build("best_which")
    return _with_rules(operator, precisions or storages[:2], asked, build.folder / "best_which", options)


def compare(words, preset, caller):
    """Runs tools/upkeep/compare on this machine's GPU, with its own options."""
    program = ROOT / "tools" / "upkeep" / "compare" / "compare.py"
    known = sorted(set(re.findall(r'add_argument\("(--[a-z]+)"', text_of(program))) - {"--warm-one"}) + ["--help"]
    words = [str(Path(caller) / word) if before in ("--out", "--table", "--library", "--peers") else word
             for before, word in zip(["", *words], words)]
    for option in (word.partition("=")[0] for word in words if word.startswith("-")):
        if option not in known:
            raise refused("option", option, known)
    if not any(word.partition("=")[0] in ("--help", "--list", "--table") for word in words):
        if not ask_nvidia("name"):
            raise Failed("compare needs an NVIDIA GPU, but nvidia-smi finds none. It also needs nvcc and a python3 with PyTorch for CUDA. It measures "
                         "the public kernels (FLA, RWKV-CUDA, fast-transformers) that are installed or in .peers/ (tools/upkeep/compare/README.md). "
                         "Our results are in records/h200_compare.md")
        build = Build("cuda" if preset == "default" else preset)
        build.prepare()
        build.build("ladder_launchers")
    return run_program(sys.executable, program, *words)
