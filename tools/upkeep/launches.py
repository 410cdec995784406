"""Finds what an implementation launches for a shape, with tools/upkeep/launches_program. It needs
no GPU and runs no kernel."""
import json
import subprocess
from dataclasses import dataclass

import nvcc
import ptx
from ladder_tools.building import Build

TARGET = "launches_emulated"


@dataclass(frozen=True)
class Launch:
    kernel: str  # mangled, with one name for every anonymous namespace
    configuration: str  # grid, block, and bytes of dynamic shared memory


def question(run):
    """The program's question for a recorded run, without the implementations."""
    return {"operator": run["operator"], "precision": run.get("precision", "fp32"), "shape": run["shape"], "causal": run.get("causal", False),
            "states": run.get("states", False), "options": run.get("options", {})}


_SIZES = {"H_q": ("H",), "T_k": ("T",), "D": ("K", "V")}


def question_of_case(case):
    """The same for a comparison's case, whose sizes have PyTorch's names."""
    shape = {name: value for size, value in case["sizes"].items() for name in _SIZES.get(size, (size,))}
    return question({**case, "shape": shape})


def built():
    build = Build("default")
    build.prepare(TARGET)
    build.build(TARGET)
    return build.folder / "tools/upkeep/launches_program" / TARGET


def symbols_of(program):
    """{address: mangled name} of every function, and the program's base address."""
    found = {}
    for line in subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout.splitlines():
        address, kind, name = line.split(maxsplit=2)
        if kind in "tTwWuV" or name == "__executable_start":
            found[int(address, 16)] = name
    return found


class Program:
    """The program, or another one with the same answers."""

    def __init__(self, path):
        self.path = path

    def launches(self, questions):
        """For each question {implementation: [Launch], or the reason why there are none}."""
        symbols = symbols_of(self.path)
        begin = next((address for address, name in symbols.items() if name == "__executable_start"), 0)
        done = subprocess.run([self.path], input="".join(json.dumps(each) + "\n" for each in questions), capture_output=True, text=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode or len(answers) != len(questions):
            raise nvcc.ToolError(f"{self.path.name} ended with {done.returncode} at {questions[len(answers)] if len(answers) < len(questions) else 'its end'}: {done.stderr[-500:]}")

        def launch(each):
            name = symbols.get(begin + each["kernel"]) if each["kernel"] else None
            if name is None:
                raise nvcc.ToolError(f"which kernel {each['name']} is cannot be told: write its template arguments in the launch")
            extents = " ".join(",".join(map(str, each[part])) for part in ("grid", "block"))
            return Launch(ptx.without_build_hashes(name), f"{extents} {each['shared']}")

        return [{name: said if isinstance(said, str) else [launch(each) for each in said] for name, said in answer.items()} for answer in answers]
