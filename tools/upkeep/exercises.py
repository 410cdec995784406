#!/usr/bin/env python3
"""Makes every lesson's exercise from its kernel: exercise.patch beside the kernel takes lines out and puts the holes in; scratch.patch makes
the kernel to be written from scratch."""
import argparse
import sys

from nvcc import ROOT
from ladder_tools.patches import adopt, made
from ladder_tools.place import Refused, exercises, place_of


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/exercises.py", description="Writes every lesson's exercise.cu and scratch.cu from its "
                                     "kernel and the exercise.patch and scratch.patch beside it.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="compare instead of writing; ends with 1 when one is not what it should be")
    group.add_argument("--adopt", action="store_true", help="write the patches from the exercises, after one was edited by hand")
    parser.add_argument("lesson", nargs="?", help="such as 06.03; without it, all of them")
    options = parser.parse_args(arguments)
    wrong = 0
    try:
        folder = place_of(options.lesson).folder if options.lesson else None
    except Refused as error:
        parser.error(error)
    all_exercises = [each for each in exercises() + exercises("scratch") if folder in (None, str(each.folder))]
    for exercise in all_exercises:
        try:
            text = made(exercise)
        except (ValueError, OSError) as error:
            if options.adopt:
                adopt(exercise)
                continue
            print(f"exercises: {error}", file=sys.stderr)
            wrong += 1
            continue
        if options.adopt:
            if text != (ROOT / exercise.stub).read_text():
                adopt(exercise)
        elif not options.check:
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
