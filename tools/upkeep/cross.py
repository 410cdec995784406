#!/usr/bin/env python3
"""Checks that three different right solutions of every hole are green in our kernel, and that their
mutants are red."""
import argparse
import contextlib
import copy
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import mutants
from nvcc import ROOT
from ladder_tools import checking, looking, telling
from ladder_tools.building import Build, Variant
from ladder_tools.exercise import begin
from ladder_tools.patches import holes_of
from ladder_tools.place import MORE, exercise_of, exercises, text_of

SOLUTIONS, MUTANTS = "abc", 12
NEXT_PLACE = re.compile(r"^\s*// ----.*\n?", re.MULTILINE)  # separates the places of a hole
_PRAGMA = re.compile(r"^[ \t]*#pragma\b", re.MULTILINE)  # unlike other directives, a pragma is code
_SHAPES = r"(kernel|exercise|test|xray_test|sm90_test)(_sm90)?\.(cu|cpp)|more/solutions/.*"


def fragment(exercise, hole, letter):
    return exercise.folder / MORE / "solutions" / f"{hole}{letter}{exercise.stub.suffix}"


def parts_of(text):
    """The lines for each of the hole's places."""
    return [part.splitlines() for part in NEXT_PLACE.split(text)]


def solutions(exercise, holes, hole):
    """{"ours": parts, "a": parts, ...}"""
    return {"ours": holes.ours(hole), **{each: parts_of(text_of(fragment(exercise, hole, each))) for each in SOLUTIONS}}


def missing(exercise):
    """A sentence for each solution that is missing or repeats another one."""
    holes, faults = holes_of(exercise), []
    for hole in holes.numbers():
        seen = {}
        for letter, parts in solutions(exercise, holes, hole).items():
            path, code = fragment(exercise, hole, letter), re.sub(r"\s", "", mutants.blanked(_PRAGMA.sub("pragma", holes.filled(hole, parts)[0])))
            if letter != "ours" and not (ROOT / path).exists():
                faults.append(f"{path} is not there: hole {hole} of {exercise.name} needs three right solutions written differently")
            elif len(parts) > len(holes.ours(hole)):
                faults.append(f"{path} has lines for {len(parts)} places; hole {hole} has {len(holes.ours(hole))}")
            elif code in seen:
                faults.append(f"{path} is {seen[code]} once more")
            seen.setdefault(code, letter)
    return faults


def _what_counts(text):
    """The text's lines, with only those comments that mark a hole's places."""
    lines = []
    for line in text.splitlines():
        comment = re.match(r"\s*//\s*(----|TODO\(\d+\))?", line)
        counts = comment[1] if comment else line
        if counts is not None and not (comment and lines[-1:] == [counts]):
            lines.append(counts)
    return lines


def changed(since):
    """The exercises whose kernel, stub, tests or solutions differ from a git revision in more than
    comments."""
    def git(*words, check=True):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=check).stdout

    names = git("diff", "--name-only", "--no-renames", "--relative", since).splitlines()
    return [each for each in exercises()
            if any(_what_counts(git("show", f"{since}:./{name}", check=False)) != _what_counts(text_of(name))
                   for name in names if re.fullmatch(f"{each.folder}/({_SHAPES})", name))]


def drawn(exercise, holes, hole):
    """(letter, text, mutated text, mutant) in the order of trial, which alternates kinds and
    solutions."""
    piles = []
    for letter, parts in solutions(exercise, holes, hole).items():
        text, begins = holes.filled(hole, parts)
        starts = [0]
        for line in text.splitlines(True):
            starts.append(starts[-1] + len(line))
        ranges = [(starts[first - 1], starts[first - 1 + len(lines)]) for first, lines in zip(begins, parts)]
        every = mutants.mutants_of(str(exercise.solution), text)
        first = mutants.drawn({str(exercise.solution): text}, f"{exercise.name}/{hole}/{letter}")
        rest = [each for each in every if each not in first]
        code = mutants.blanked(text)
        for begin_, end in ranges:  # removes a statement
            for line in re.finditer(r"^ +[^;\n]*;[^\n]*\n", code[begin_:end], re.MULTILINE):
                first.append(mutants.Mutant(str(exercise.solution), "forgotten", "", begin_ + line.start(), begin_ + line.end(), ""))
            for line in re.finditer(_PRAGMA.pattern + r"[^\n]*\n", text[begin_:end], re.MULTILINE):
                first.append(mutants.Mutant(str(exercise.solution), "forgotten", "", begin_ + line.start(), begin_ + line.end(), ""))
        inside = [[each for each in pile if any(a <= each.start and each.end <= b for a, b in ranges)] for pile in (first, rest)]
        random.Random(f"{exercise.name}/{hole}/{letter}").shuffle(inside[0])
        piles.append([(letter, text, each) for pile in inside for each in pile])
    longest = max(map(len, piles))
    return [pile[turn] for turn in range(longest) for pile in piles if turn < len(pile)]


def key_of(hole, mutant, text):
    """The key in more/solutions/equivalent.txt, before the reason."""
    lines = {"-": [], "+": []}
    for line in mutant.diff(text).splitlines()[2:]:
        lines.get(line[0], []).append(line[1:].strip())
    return f"{hole}: {' '.join(lines['-'])} -> {' '.join(lines['+'])}"


def excuses(exercise):
    """{key: why the mutant is an equivalent program}, from lines "KEY  # REASON"."""
    return dict(line.rsplit("  # ", 1) for line in text_of(exercise.folder / MORE / "solutions" / "equivalent.txt").splitlines() if "  # " in line)


class Bench:
    """Checks texts in place of the learner's copy, each in a folder of its own."""

    def __init__(self, exercise, build, place):
        self._exercise, self._build, self._place, self._count = exercise, build, place, 0

    def variant(self, text):
        self._count += 1
        return Variant(self._build, self._exercise, text, self._place / f"{self._count:04}")

    def object_of(self, variant):
        """The first program's object file, without its folder's name and line numbers; None if it
        does not compile."""
        target = f"{self._exercise.target}{self._first()}"
        if not variant.compile(target):
            return None
        stripped = variant.folder / "stripped.o"
        subprocess.run(["strip", "-g", "-o", stripped, variant.object_of(target)], check=True)
        return stripped.read_bytes().replace(bytes(variant.folder), b"")

    def _first(self):
        target = checking.Check(self._exercise, self._build).back_ends()[0][1]
        return target.removeprefix(self._exercise.target)

    def verdict(self, variant):
        """(whether it is solved, the check, its output), as from ./ladder exercise."""
        exercise = copy.copy(self._exercise)
        exercise.mine = variant.mine.relative_to(ROOT)
        check, said = checking.Check(exercise, variant), io.StringIO()
        with contextlib.redirect_stdout(said):
            green = check()
        shutil.rmtree(variant.folder)
        return green, check, said.getvalue()


def named(check):
    """The misconception that a check names, or ""."""
    results = telling.facts_of(check.failures, "wrong result")
    return next((line for result in results for line in result["name"]), "")


def crossed(name, hole, place, most=MUTANTS):
    """(counts for the record, faults, notes worth reading)"""
    exercise, build = exercise_of(name), Build("default")
    holes, known = holes_of(exercise), excuses(exercise)
    bench, faults, notes, seen = Bench(exercise, build, Path(place)), [], [], {}
    found = {"green": 0, "mutants": 0, "red": 0, "excused": 0, "same code": 0}
    for letter, parts in solutions(exercise, holes, hole).items():
        text, _ = holes.filled(hole, parts)
        variant = bench.variant(text)
        seen[letter] = {bench.object_of(variant)}
        green, _, said = bench.verdict(variant)
        found["green"] += green and letter != "ours"
        if not green:
            faults.append(f"{name}: solution {hole}{letter} is not green:\n{said}")
    for letter, text, mutant in drawn(exercise, holes, hole):
        if found["mutants"] >= most:
            break
        variant, key = bench.variant(mutant.apply(text)), key_of(hole, mutant, text)
        code = bench.object_of(variant)
        if code is None or code in seen[letter]:
            found["same code"] += code is not None
            shutil.rmtree(variant.folder)
            continue
        seen[letter].add(code)
        green, check, said = bench.verdict(variant)
        excused = green and key in known
        found["excused" if excused else "mutants"] += 1
        found["red"] += not green
        blamed = [each for each in check.blamed if each != hole]
        if green and not excused:
            faults.append(f"{name}: a mutant of {hole}{letter} is green: {key}")
        elif blamed and not green:
            faults.append(f"{name}: for a mutant of {hole}{letter} hole {blamed[0]} is blamed: {key}\n{said}")
        notes.append(f"{name} {hole}{letter} {'GREEN' if green else 'red'}  {key}\n"
                     f"      {named(check) or said.strip().splitlines()[0]}")
    if found["mutants"] < most:
        notes.append(f"{name} hole {hole}: {found['mutants']} mutants are all there are")
    return found, faults, notes


def share(of_a_hole, of_all, holes):
    """The number of mutants for a hole."""
    return of_a_hole if of_all is None else min(of_a_hole, max(2, of_all // holes))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/cross.py", description="Checks every hole's right solutions and mutants as ./ladder exercise "
                                     "checks a learner's lines. more/solutions/1a.cu holds the lines for hole 1; those of a hole with several "
                                     "places have lines // ---- between them.")
    parser.add_argument("lesson", nargs="*", help="such as 00.11; without it, all of them")
    parser.add_argument("--since", metavar="REF", help="those whose files are others than in this git revision")
    parser.add_argument("--check", action="store_true", help="only whether every hole has three solutions; nothing is built")
    parser.add_argument("--ours", action="store_true", help="only show our lines, as a solution would have them")
    parser.add_argument("--mutants", type=int, default=MUTANTS, metavar="N", help="of a hole (default: %(default)s)")
    parser.add_argument("--most", type=int, metavar="N", help="mutants of all holes together: each has its share, and two at least")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    options = parser.parse_args(arguments)
    chosen = [exercise_of(each) for each in options.lesson] if options.lesson else changed(options.since) if options.since else exercises()
    if options.ours:
        for each in chosen:
            for hole in holes_of(each).numbers():
                places = ["".join(f"{line}\n" for line in lines) for lines in holes_of(each).ours(hole)]
                print(f"{fragment(each, hole, '')}:\n" + "// ----\n".join(places))
        return 0
    faults = [fault for each in chosen for fault in missing(each)]
    if options.check or faults or not chosen:
        print("\n".join(faults) or f"{len(chosen)} exercises have three solutions for every hole")
        return 1 if faults else 0
    chosen_holes = [(each, hole) for each in chosen for hole in holes_of(each).numbers()]
    of_a_hole = share(options.mutants, options.most, len(chosen_holes))
    build, began = Build("default"), [each for each in chosen if begin(each)]
    os.environ.setdefault("LADDER_EXERCISE_SECONDS", "60")  # ends an endless loop
    looking.say, checking.note_solved = (lambda text: None), (lambda name: None)
    try:
        for each in chosen:
            build.prepare(each.target + ("_emulated" if each.needs_device else ""))
        build.build(*(target for each in chosen for target in checking.Check(each, build).programs()))
        (ROOT / "out").mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=ROOT / "out", prefix="cross") as place, ProcessPoolExecutor(options.jobs) as pool:
            waiting = [(each, hole, pool.submit(crossed, each.name, hole, f"{place}/{each.name}/{hole}", of_a_hole)) for each, hole in chosen_holes]
            for each, hole, one in waiting:
                found, wrong, notes = one.result()
                faults += wrong
                print("\n".join([*notes, *wrong, f"{each.name} hole {hole}: {found}"]), flush=True)
    finally:
        for each in began:
            (ROOT / each.mine).unlink()
    print("\n".join(["", *faults, f"{len(waiting)} holes, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
