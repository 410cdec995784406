"""Makes every lesson's exercise from its kernel: exercise.patch beside the kernel takes lines out and puts the holes in."""
import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

from ladder_tools.place import ROOT, exercises

_HEAD = "# exercise.{suffix} is made of kernel.{suffix} by this: tools/exercises\n"


def patch_of(exercise):
    return exercise.folder / "exercise.patch"


def made(exercise, root=ROOT):
    """The exercise's text, from kernel and patch. ValueError, if the patch does not fit."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / exercise.stub.name
        run = subprocess.run(["patch", "--silent", "--fuzz=0", f"--output={output}", root / exercise.solution, root / patch_of(exercise)],
                             capture_output=True, text=True)
        if run.returncode:
            raise ValueError(f"{patch_of(exercise)} does not fit {exercise.solution}: {run.stdout}{run.stderr}")
        return output.read_text()


def adopt(exercise, root=ROOT):
    """Writes the patch from an exercise that was edited by hand."""
    kernel, stub = (root / exercise.solution).read_text(), (root / exercise.stub).read_text()
    lines = difflib.unified_diff(kernel.splitlines(True), stub.splitlines(True), f"a/{exercise.solution}", f"b/{exercise.stub}")
    (root / patch_of(exercise)).write_text(_HEAD.format(suffix=exercise.stub.suffix[1:]) + "".join(lines))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/exercises", description="Writes every lesson's exercise from its kernel and the "
                                     "exercise.patch beside it.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="compare instead of writing; ends with 1 when one is not what it should be")
    group.add_argument("--adopt", action="store_true", help="write the patches from the exercises, after one was edited by hand")
    options = parser.parse_args(arguments)
    wrong = 0
    for exercise in exercises():
        if options.adopt:
            adopt(exercise)
            continue
        try:
            text = made(exercise)
        except (ValueError, OSError) as error:
            print(f"exercises: {error}", file=sys.stderr)
            wrong += 1
            continue
        if not options.check:
            (ROOT / exercise.stub).write_text(text)
        elif (ROOT / exercise.stub).read_text() != text:
            print(f"exercises: {exercise.stub} is not what {exercise.solution} and {patch_of(exercise)} give; tools/exercises writes it, "
                  "tools/exercises --adopt takes it as it is", file=sys.stderr)
            wrong += 1
    if options.check and not wrong:
        print(f"{len(exercises())} exercises are what their kernels and patches give")
    return 1 if wrong else 0
