"""Which hole of a learner's file is wrong: tests our kernel with the learner's lines in one hole, or
the learner's file with ours."""
import functools
import os
import re
import tempfile
from pathlib import Path

from ladder_tools import gtest
from ladder_tools.building import Variant
from ladder_tools.cases import first_tests
from ladder_tools.patches import (
    Written, first_out_of_order, header, hole_of, holes_of, is_code, not_as_ours, patched, put_back,
    same_code, with_a_line_back, without_aside)
from ladder_tools.place import ROOT, mistakes, text_of
from ladder_tools.telling import INDEX, in_files_of, tests_of_holes, told_of

# an access out of bounds may be harmless, so the X-ray runs this even if all tests pass
IN_BOUNDS = "*StaysInBounds*"
FINDS = f"{IN_BOUNDS}:*KeepsItsBudget"  # the tests under the X-ray that always run
NOT_COMPILED = "it does not compile."


class Blame:
    """The holes of a copy, which of them are wrong, and where they are."""

    def __init__(self, exercise, build, seconds):
        self._exercise = exercise
        self._build = build
        self._seconds = seconds
        self._target = exercise.target
        # holes that are wrong on their own, and those that are right
        self._red, self._green = [], []
        # (number, line, the stub's line or "") of a change outside the holes with which our kernel
        # is wrong too
        self._aside = None
        self._unplaced = False  # no hole can be blamed, perhaps none is wrong
        self._not_all_aside = False  # the learner's file is wrong without these changes, too
        self._names = []  # of the tests that a check may run
        self.failing = None  # the failing test
        self._said = ""  # the failing test's report
        self.failures = []  # the same, each with its facts

    def _diagnosed(self):
        """The holes whose planted mistakes have the diagnosis that was printed, the longest
        diagnosis first."""
        texts = {patch: header((ROOT / patch).read_text(), "diagnosis") for patch in mistakes().values() if patch.parents[2] == self._exercise.folder}
        said = sorted((patch for patch, words in texts.items() if words in self._said), key=lambda patch: -len(texts[patch]))
        return list(filter(None, (hole_of(self._exercise, patch) for patch in said)))

    def _seconds_of(self, test_filter):
        """The limit for small cases, which take a tenth of a second: an endless loop shows long
        before the limit of all tests."""
        return max(1, self._seconds // 6) if test_filter in first_tests(self._names) else None

    def _light_up(self, target):
        """Finds for each hole whether our kernel with the learner's lines in only this hole is
        right, and returns the lines to print. If several holes are wrong, each gets its
        sentence."""
        exercise = self._exercise
        mine, kernel = text_of(exercise.mine), text_of(exercise.solution)
        holes = holes_of(exercise)
        written, tests = holes.of(mine), tests_of_holes(self._names, exercise.piece)
        asked = [*sum(tests.values(), []), self.failing]
        if written.aside:
            fault = written.holes is not None and self._fault(target, holes.with_lines_of(written), asked)
            if fault:
                mended = self._mended_by_ours(target, written, holes, asked)
                if mended:
                    return mended
                number, line, stubs = self._guilty(written, holes, lambda text: self._fault(target, text, asked) not in ("", NOT_COMPILED))
                what = f"where the stub has `{stubs.strip()}`" if stubs else f"which is outside the {exercise.piece}s"
                # that does not blame the line, which may only rename something
                if fault == NOT_COMPILED:
                    self._unplaced = True
                    return [f"The {exercise.piece}s were not tested one by one, because our own lines do not compile with line {number}, `{line.strip()}`, {what}."]
                self._aside = number, line, stubs
                self._not_all_aside = not self._empty() and bool(self._fault(target, without_aside(mine, written), asked, True))
                written = Written(why=f"with line {number}, `{line.strip()}`, {what}, our own lines are wrong too")
        if written.holes is None:
            planted = self._planted(mine)
            if planted:
                self._aside = self._aside or next(iter(written.aside), None)
                return [f"Your lines are {planted}"]
            beside = with_a_line_back(mine, kernel, written, holes)
            mended = beside and self._mended_by_ours(target, beside, holes, asked)
            if mended:
                return mended
            self._aside = self._aside or self._lacking(target, written, asked)
            self._unplaced = bool(written.aside) and not self._aside
            named = self._holes_at(self._lines_named_in(self._said), beside) if beside and self._not_all_aside else []
            if len(named) == 1:
                self._red, self._aside = named, None
                return [f"The failure is in {exercise.piece} {named[0]}."]
            return [f"The {exercise.piece}s were not tested one by one, because {written.why}."]
        piece, empty, alone = exercise.piece, self._empty(), len(exercise.holes()) == 1
        texts = {hole: text for hole in sorted(exercise.holes(), key=int)
                 if hole not in empty and (text := holes.with_lines_of(written, hole)) != kernel}
        faults = {} if alone else dict.fromkeys(empty, "")
        # While a hole is empty, the first tests tell little about the others. If they find no
        # mistake, all tests run.
        for whole in dict.fromkeys((bool(empty), True)) if not alone else ():
            for hole, text in texts.items():
                fault = "no other hole differs from ours." if text == mine else self._fault(target, text, [*tests.get(hole, []), self.failing], whole)
                if fault:
                    faults[hole] = fault
            if faults:
                break
        else:
            faults = {hole: "the X-ray finds a mistake." for hole, text in texts.items() if not alone and self._is_found(f"{self._target}_xray", text)}
        if len(faults) > 1 and set(faults.values()) == {NOT_COMPILED}:  # one declares what another uses
            mended = self._mended_by_ours(target, written, holes, asked)
            self._unplaced = not mended
            return mended or [f"{piece.capitalize()}s {' and '.join(sorted(faults, key=int))} were not tested one by one, because yours compile only together."]
        planted = {hole: said for hole, text in texts.items() if (hole in faults or alone) and (said := self._planted(text))}
        if alone:
            return [f"Your lines are {said}" for said in planted.values()]
        self._red = sorted(faults, key=int)
        self._green = [hole for hole in exercise.holes() if hole not in faults]
        several = len(faults.keys() & texts.keys()) > 1

        def light(hole):
            said = planted.get(hole) or several and faults.get(hole)
            return f"{piece} {hole}: {'red' if hole in faults else 'green'}" + (f", in our kernel: {said}" if said else "")
        return [light(hole) for hole in sorted(exercise.holes(), key=int)]

    def _lacking(self, target, written, tests):
        """The stub's line that the learner's file lacks outside the holes, if lines cannot be
        attributed. None if it is only elsewhere and moving it back does not make the file right."""
        lacks, mine = next(iter(written.aside), None), text_of(self._exercise.mine)
        if not lacks:
            return None
        restored, moved = put_back(mine, text_of(self._exercise.solution), lacks)
        if moved:
            written.why = f"`{lacks[2].strip()}` is not where the stub has it"
        fault = self._fault(target, restored, tests, True)
        self._not_all_aside = not moved and fault not in ("", NOT_COMPILED)
        return None if moved and fault else lacks

    def _mended_by_ours(self, target, written, holes, tests):
        """Blames the hole for which our lines make the learner's file right, with everything else
        unchanged, and returns the line to print; [] if there is none."""
        mine = text_of(self._exercise.mine)
        texts = {hole: holes.with_ours_in(mine, written, hole) for hole in sorted(self._exercise.holes(), key=int)}
        hole = next((hole for hole, text in texts.items() if text and not same_code(text, mine) and not self._fault(target, text, tests, True)), "")
        if not hole:
            return []
        self._red, self._green = [hole], [each for each in self._exercise.holes() if each != hole]
        return [f"With our lines of {self._exercise.piece} {hole} instead of yours, your file is right."]

    @staticmethod
    def _guilty(written, holes, is_wrong, most=4):
        """The first change outside the holes that makes our kernel wrong on its own, otherwise the
        first change."""
        each = holes.with_each_aside(written) if written.holes is not None else []
        return next((aside for aside, text in each[:most] if len(each) > 1 and is_wrong(text)), written.aside[0])

    def _planted(self, text):
        """The lesson's mistake that this text is, as a sentence; otherwise ""."""
        exercise = self._exercise
        for patch in mistakes().values():
            its = (ROOT / patch).read_text()
            if patch.parents[2] == exercise.folder and f"+++ b/{exercise.solution}\n" in its and same_code(text, patched(exercise.solution, patch)):
                return f"this lesson's mistake {patch.stem}: {header(its, 'mistake')}"
        return ""

    def _empty(self):
        """The holes with a TODO and no line of code; all with a TODO, if lines cannot be
        attributed."""
        mine = text_of(self._exercise.mine)
        written = holes_of(self._exercise).of(mine)
        return [hole for hole in self._exercise.holes() if f"TODO({hole})" in mine and not written.begun(hole)]

    def _lines_named_in(self, said):
        return [int(line) for line in re.findall(rf"{re.escape(str(self._exercise.mine))}:([0-9]+)", said)]

    def _holes_at(self, numbers, written=None):
        """The holes that contain these lines of the learner's file; none if lines cannot be
        attributed."""
        exercise = self._exercise
        if not written and exercise.kind == "exercise":
            written = holes_of(exercise).of(text_of(exercise.mine))
        return [hole for hole, parts in (written.numbers if written else {}).items() if any(number in part for part in parts for number in numbers)]

    def _place_of(self, hole):
        """" (my/x.cu:52)", the first line of code at each of the hole's places, and all lines that
        an only hole has elsewhere, with the words of _apart; if there is no code, the TODOs."""
        mine, todo, apart = text_of(self._exercise.mine), f"TODO({hole})", ""
        lines, numbers = mine.splitlines(), []
        if self._exercise.kind == "exercise":
            holes = holes_of(self._exercise)
            written = holes.of(mine)
            places = written.numbered(hole)
            numbers = [next(number for number, line in place if is_code(line)) for place in places if any(is_code(line) for _, line in place)]
            if numbers and len(self._exercise.holes()) == 1:  # then a line elsewhere is part of it
                numbers = sorted({*numbers, *(number for number, _, _ in written.aside)})
            apart = self._apart(places, holes.ours(hole))
        if not numbers:
            numbers = [number for number, line in enumerate(lines, 1) if todo in line and (number == 1 or todo not in lines[number - 2])]
        return f" ({self._exercise.mine}:{' and '.join(map(str, numbers))}{apart})" if numbers else ""

    @staticmethod
    def _apart(places, ours):
        """"; like ours except for line 54", if nearly all lines at a hole's places are ours."""
        reordered = first_out_of_order(places, ours)
        if reordered:
            return f"; its lines are ours, in another order from line {reordered} on"
        differ, left_out = not_as_ours(places, ours)
        said = [f"line{'s' if len(differ) > 1 else ''} {' and '.join(map(str, differ))}"] if differ else []
        said += [f"missing code {place}" for place in left_out]
        return f"; like ours except for {' and '.join(said)}" if said else ""

    def _of_the_only_hole(self):
        """The place of the only hole, if an exercise has one and nothing else was changed."""
        exercise = self._exercise
        if exercise.kind != "exercise" or len(exercise.holes()) != 1:
            return ""
        written, hole = holes_of(exercise).of(text_of(exercise.mine)), exercise.holes()[0]
        return "" if written.holes is None or self._aside else f"Next: {exercise.piece} {hole}{self._place_of(hole)}."

    def _holes_of(self, fault, target):
        """The holes whose lines cause the same fault, _is_dear or _is_found, in our kernel under
        the X-ray; none if lines cannot be attributed."""
        exercise = self._exercise
        mine, kernel, holes = text_of(exercise.mine), text_of(exercise.solution), holes_of(exercise)
        written = holes.of(mine)
        if written.aside and (written.holes is None or fault(target, holes.with_lines_of(written))):
            self._aside = self._guilty(written, holes, functools.partial(fault, target))
        if written.holes is None or self._aside or len(exercise.holes()) < 2:
            return []
        texts = {hole: holes.with_lines_of(written, hole) for hole in sorted(exercise.holes(), key=int)}
        return [hole for hole, text in texts.items() if text != kernel and (text == mine or fault(target, text))]

    def _placed(self, text, variant):
        """A function that maps the places in a Variant of this text to the learner's copy and our
        kernel."""
        mine, ours = self._exercise.mine, self._exercise.solution
        return functools.partial(in_files_of, {mine: text_of(mine)}, {ours: text_of(ours)}, text, os.path.relpath(variant.mine, ROOT))

    def _is_dear(self, target, text):
        done = self._under_the_xray(target, text, "*KeepsItsBudget")
        return done is not None and done.is_dear()

    def _is_found(self, target, text):
        if not (self._exercise.needs_device and self._build.has_xray()):
            return False
        done = self._under_the_xray(target, text, f"{FINDS}:{self.failing}" if self.failing else FINDS)
        return done is not None and bool(done.findings())

    def _under_the_xray(self, target, text, test_filter):
        with tempfile.TemporaryDirectory(dir=self._build.folder) as folder:
            variant = Variant(self._build, self._exercise, text, Path(folder))
            if not variant.compile(target):
                return None
            done = gtest.run(variant.folder / target, self._seconds, test_filter=test_filter)
            done.variant = variant
            return done

    def _fault(self, target, text, tests, whole=False):
        """The fault of a kernel in the first tests and these, and with `whole` in all others if
        time permits; "" if they pass."""
        with tempfile.TemporaryDirectory(dir=self._build.folder) as folder:
            variant = Variant(self._build, self._exercise, text, Path(folder))
            if not variant.compile(target):
                return NOT_COMPILED
            placed = self._placed(text, variant)
            for each in [*first_tests(self._names), ":".join(filter(None, tests))]:
                seconds = self._seconds_of(each) or self._seconds // 2
                done = gtest.run(variant.folder / target, seconds, test_filter=each)
                if not done.succeeded:
                    return placed(told_of(done, seconds))
                if index := INDEX.search(done.text):
                    return placed(f"{index[1]}: {index[2]}.")
            rest = gtest.run(variant.folder / target, self._seconds, "--gtest_fail_fast", test_filter=":".join(self._names)) if whole else None
            return "" if rest is None or rest.succeeded or rest.timed_out else placed(told_of(rest, self._seconds))
