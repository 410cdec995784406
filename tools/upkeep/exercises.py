#!/usr/bin/env python3
"""Makes every lesson's exercise from its kernel: exercise.patch beside the kernel takes lines out and puts the holes in; scratch.patch makes
the kernel to be written from scratch."""
import argparse
import sys

from nvcc import ROOT
from ladder_tools.patches import adopt, made
from ladder_tools.place import exercises


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/exercises.py", description="Writes every lesson's exercise.cu and scratch.cu from its "
                                     "kernel and the exercise.patch and scratch.patch beside it.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="compare instead of writing; ends with 1 when one is not what it should be")
    group.add_argument("--adopt", action="store_true", help="write the patches from the exercises, after one was edited by hand")
    options = parser.parse_args(arguments)
    wrong = 0
    all_exercises = exercises() + exercises("scratch")
    for exercise in all_exercises:
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
            print(f"exercises: {exercise.stub} is not what {exercise.solution} and {exercise.patch} give; tools/upkeep/exercises.py writes it, "
                  "tools/upkeep/exercises.py --adopt takes it as it is", file=sys.stderr)
            wrong += 1
    if options.check and not wrong:
        print(f"{len(all_exercises)} exercises are what their kernels and patches give")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
