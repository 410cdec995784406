"""One check of ./ladder exercise: compiles the learner's file, tests it, examines failures, and
prints a verdict."""
import contextlib
import copy
import filecmp
import io
import os
import re
import tempfile
from pathlib import Path

from ladder_tools import gtest, nvcc_rules
from ladder_tools.blaming import FINDS
from ladder_tools.building import Variant
from ladder_tools.cases import first_tests, without_large_repeats
from ladder_tools.compiler import compiler_messages, compiler_warnings
from ladder_tools.hints import Hints
from ladder_tools.learning import (
    called_by_kernels, counts_elements, in_double, more_of, next_exercise, note_solved, own_arrays,
    reward, solved, too_narrow, unchecked, without_size)
from ladder_tools.looking import CloserLook
from ladder_tools.patches import holes_of, until
from ladder_tools.place import ROOT, Refused, text_of
from ladder_tools.telling import (
    INDEX, facts_of, lines_of, most_telling, placed_all, printed_lines, shown_name, tests_of_holes,
    words_of)

# Tests that would keep a learner waiting for nothing. Long sequences repeat short ones, the X-ray
# sees races and misaligned accesses in the other tests and counts for the budget, and the choice of
# cases is our concern.
_NOT_IN_THE_LOOP = re.compile(r"1000|\.KeepsItsBudget|\.IsRepeatable|\.TakesOrRefusesAnyAlignment|CasesHoldEveryPair")
# so small that the X-ray's program also runs the tests, which saves a build
_SMALL_PROBLEMS = "00."
# libstdc++'s words
_BEYOND_A_VECTOR = re.compile(r"^.*/stl_vector\.h:[0-9]+: .*Assertion '__n < this->size\(\)' failed\.$")
_MOST_LINES = 20  # of a failed test's report


def seconds_allowed(exercise=None):
    """The time limit of the exercise's tests. With small problems, an endless loop must not cost
    minutes."""
    usual = "20" if exercise and exercise.name.startswith(_SMALL_PROBLEMS) else "120"
    text = os.environ.get("LADDER_EXERCISE_SECONDS", usual)
    if not re.fullmatch(r"[1-9][0-9]*", text):
        raise Refused(f"LADDER_EXERCISE_SECONDS is '{text}'; allowed: whole seconds, at least 1")
    return int(text)


def how_to_compare(exercise):
    return f"To compare with ours: git diff --no-index {exercise.mine} {exercise.solution}"


def introduce(exercise):
    """Tells the learner what to do with an unchanged copy. Its tests would fail and show
    nothing."""
    if exercise.begins_with:
        print(f"Open {exercise.mine} in your editor. It holds the kernel of the previous step, which is right, but over this lesson's budget; "
              f"{exercise.folder}/README.md explains why.\nYour task is {exercise.first_todo()[1]}\n"
              f"Change the kernel, save the file, and call ./ladder exercise {exercise.name}, which tests it and counts what it costs. For a hint, add --hint.")
        return
    holes = len(exercise.holes())
    goes = next(filter(until, text_of(exercise.mine).splitlines()), None)
    print(f"Open {exercise.mine} in your editor. {f'One {exercise.piece} is' if holes == 1 else f'{holes} {exercise.piece}s are'} empty, {'' if holes == 1 else 'each '}marked by TODO "
          f"lines; {exercise.page} explains {'it' if holes == 1 else 'them'}.\n"
          f"{'It is' if holes == 1 else 'The first is'} {exercise.first_todo()[1]}\n"
          + (f"The line `{goes.strip()}` only lets the file compile. Delete it, and each line with the same ending, when you fill its hole.\n" if goes else "") +
          f"Write it, save the file, and call ./ladder exercise {exercise.name}, which reports what is right and what is not yet. For a hint, add --hint.")


def began_with_ours(exercise):
    """A marker beside the learner's copy, present if --start-from-ours made the copy."""
    return (ROOT / exercise.mine).parent / ".began_with_ours"


class Check(CloserLook):
    """One check: compile, test, look closer."""

    def __init__(self, exercise, build):
        super().__init__(exercise, build, seconds_allowed(exercise))
        self.blamed = []  # the holes with which hints begin
        self._timed_out = False
        # the test made a call fail, so what the kernels then do is not the learner's mistake
        self._injected = False

    def _warnings(self, unfinished):
        return compiler_warnings(text_of(self._build.log), self._exercise.mine, unfinished)

    def _try(self, target, *options, **more):
        """Runs tests and keeps what their kernels print."""
        file = self._build.folder / "exercise_printf.log"
        file.unlink(missing_ok=True)
        done = self._run(target, *options, environment={"EMULATOR_PRINTF": str(file)}, **more)
        done.printed = text_of(file)
        return done

    def _test(self, target):
        """Runs the tests up to the first failure: those of single holes, the plain case, a small
        one, and then the others."""
        names = gtest.names_of(self._build.folder / target, without="xray_test.cpp")
        self._names = names = without_large_repeats([name for name in names if not _NOT_IN_THE_LOOP.search(name)])
        of_holes = [name for tests in tests_of_holes(names, self._exercise.piece).values() for name in tests]
        ran = []
        for test_filter in [*([":".join(of_holes)] if of_holes else []), *first_tests(names),
                            ":".join(name for name in names if name not in of_holes)]:
            done = self._try(target, "--gtest_fail_fast", seconds=self._seconds_of(test_filter), test_filter=test_filter)
            if not done.succeeded:
                break
            ran += done.tests if test_filter == ":".join(of_holes) else []
        else:
            done.tests = ran + done.tests
        (self._build.folder / "exercise.log").write_text(done.text)
        (self._build.folder / "exercise_printf.log").write_text(done.printed)
        return done

    def _note_red(self, holes, right=()):
        Hints(self._exercise).note_red(holes, right)

    def _unfinished(self):
        """The empty holes, if some are filled and each of these is right on its own. A failure then
        is no news."""
        left = self._empty()
        return left if self._red and set(self._red) <= set(left) and len(left) < len(self._exercise.holes()) else []

    def _within(self, hole, warnings):
        """The compiler's warnings about a line of this hole."""
        return [said for said, line in warnings.items() if self._holes_at([line]) == [hole]]

    def _left_beside(self, log=""):
        """A sentence for each line that should go with a filled hole but is still there, if the
        compiler names it or it returns before the hole's lines."""
        exercise = self._exercise
        if exercise.kind != "exercise":
            return []
        written, said = holes_of(exercise).of(text_of(exercise.mine)), []
        for hole in exercise.holes():
            for number, line in written.left(hole):
                code = line.partition("//")[0].strip()
                if code.startswith("return") and not log or re.search(rf"{re.escape(str(exercise.mine))}(?::{number}:|\({number}\))", log):
                    said.append(f"Delete line {number} of {exercise.mine}, `{code}`, now that {exercise.piece} {hole} is filled.")
        return said

    def _shows_alone(self, hole, empty, result, lights):
        """Tests our kernel with the learner's lines in only this hole, and prints the result,
        because empty holes cause failures of their own. Whether that was possible."""
        holes = holes_of(self._exercise)
        text = holes.with_lines_of(holes.of(text_of(self._exercise.mine)), hole)
        with tempfile.TemporaryDirectory(dir=self._build.folder) as folder:
            variant = Variant(self._build, self._exercise, text, Path(folder))
            exercise = copy.copy(self._exercise)
            exercise.mine = Path(os.path.relpath(variant.mine, ROOT))
            placed = self._placed(text, variant)
            alone, said = _Alone(exercise, variant), io.StringIO()
            alone.told = lambda findings: most_telling(placed_all(findings, placed), self._exercise.mine)
            with contextlib.redirect_stdout(said):
                passed = alone()
        if passed or not alone.failing:
            return False
        print("\n".join(self._wrong_alone(hole, empty, result, lights)))
        print(placed(said.getvalue()), end="")
        self.failing, self._said, self._xray_errors, self.wrong_values = alone.failing, alone._said, alone._xray_errors, []
        self.failures = alone.failures
        self._red.sort(key=hole.__ne__)
        return True

    def _wrong_alone(self, hole, empty, result, lights, what="is wrong"):
        """The lines above the report about our kernel with the learner's lines in this hole
        only."""
        piece = self._exercise.piece
        are = f"{piece.title()}s {', '.join(empty)} are" if len(empty) > 1 else f"{piece.title()} {empty[0]} is"
        return [f"{result}. {are} empty, and {piece} {hole} {what} on its own.", *lights, f"Our kernel with your lines of {piece} {hole}:"]

    def _found_alone(self, filled):
        """(hole, its fault in words, lines) for the first of these holes whose lines cause a
        finding of the X-ray in our kernel, end a launch there or go over its budget; None if there
        is none."""
        if not (filled and self._exercise.needs_device and self._build.has_xray()):
            return None
        kernel, holes = text_of(self._exercise.solution), holes_of(self._exercise)
        written = holes.of(text_of(self._exercise.mine))
        for hole in filled if written.holes is not None else []:
            text = holes.with_lines_of(written, hole)
            done = self._under_the_xray(f"{self._target}_xray", text, FINDS) if text != kernel else None
            if done is None:
                continue
            placed = self._placed(text, done.variant)
            found = done.findings() or list(filter(None, [self._ends(done)]))
            if found:
                return hole, ("the X-ray finds a mistake", "is wrong"), self.told(placed_all(found, placed))[0]
            if done.is_dear():
                return hole, ("over budget", "is over budget"), list(map(placed, self._budget(done, only_too_many=True)))
        return None

    def _seen_in_the_text(self):
        texts = text_of(self._exercise.mine), text_of(self._exercise.solution)
        return [*own_arrays(*texts), *without_size(*texts), *called_by_kernels(*texts), *counts_elements(*texts)] if self._exercise.needs_device else []

    def _report(self, where, done):
        """The result of the tests in words."""
        self._said += "" if done.succeeded else done.text
        if done.timed_out or done.crashed:
            self.failing, said = done.last_begun()
            self.failures.append(done.told("\n".join(said)))
            said = list(dict.fromkeys(
                _BEYOND_A_VECTOR.sub("an index is past the end of a std::vector", line)
                for line in said))
            touches = done.facts("host access")
            if touches:
                self._host_touches = touches[0]["message"]
                return [f"{where}: {self._host_touches}", f"  test: {shown_name(self.failing)}"]
            if any(line.endswith(": Failure") for line in said):  # printed before it was stopped
                said = [line.removeprefix("  ") for line in words_of(done.told("\n".join(said)))]
            more = ". Is there a loop that does not end, or is the machine slow? (LADDER_EXERCISE_SECONDS=600 allows more time.)" if done.timed_out else ""
            return [f"{where}: {done.how_it_ended(done.seconds)}{more}", f"  test: {shown_name(self.failing)}", *[f"  {line}" for line in said if " runtime error: index " not in line][:9]]
        failed = done.first_failure()
        if failed is None and done.status == 0:
            skipped = f", {done.skipped()} {'is' if done.skipped() == 1 else 'are'} skipped" if done.skipped() else ""
            return [f"{where}: {done.passed()} of {len(done.tests)} tests pass{skipped}"]
        if failed is None:
            return [f"{where}: the tests ended with exit code {done.status}", *(f"  {line}" for line in done.text.splitlines()[-9:])]
        self.failing, self._injected = failed["name"], failed["injects"]
        self._nan_input = failed["nan"]
        self.failures += failed["failures"]
        with_the_xrays = {words_of(f"\n{finding}")[0].strip() for finding in done.findings()} | {"Failed"}
        said = [line for line in lines_of(failed["failures"]) if line.strip().removeprefix("in another check: ") not in with_the_xrays]
        said = said or ["  the X-ray finds a mistake"]
        before = f", after {done.passed()} that passed" if done.passed() else ""
        if len(said) > _MOST_LINES:
            said = [*said[:_MOST_LINES], "  ..."]
        return [f"{where}: {said[0].strip()}", *said[1:], f"  test: {shown_name(self.failing)}{before}"]

    def back_ends(self):
        """[(where its tests run, the program)]"""
        if not self._exercise.needs_device:
            return [("On the CPU", self._target)]
        one_build = self._exercise.name.startswith(_SMALL_PROBLEMS) and self._build.has_xray()
        found = [("In the emulator", f"{self._target}_{'xray' if one_build else 'emulated'}")]
        on_gpus = self._build.has_cuda() and ("_sm90" not in self._exercise.solution.name or self._build.has_hopper())
        return found + ([("On the GPU", f"{self._target}_cuda")] if on_gpus else [])

    def programs(self):
        """All programs that a check may build."""
        programs = [target for _, target in self.back_ends()]
        more = ["_xray", "_ours"] if self._exercise.needs_device else ["_asan"]
        return dict.fromkeys(programs + [f"{self._target}{each}" for each in more if each == "_asan" or self._build.has_xray()])

    def __call__(self):
        """Prints the verdict; returns whether the exercise is solved."""
        exercise = self._exercise
        self._note_red([])  # the file has changed since an earlier check
        passed, clean, timed_out, crash, warnings = True, True, False, [], []
        for where, target in self.back_ends():
            if not self._compile(target):
                said = compiler_messages(text_of(self._build.log))
                line = re.search(rf"^{re.escape(str(exercise.mine))}[:(]([0-9]+)", said, re.MULTILINE)
                self._note_red(self._holes_at([int(line[1])]) if line else [])
                print("".join(f"{line}\n" for line in self._left_beside(text_of(self._build.log))), end="")
                print(f"{said}\n{exercise.mine} does not compile. Fix the first error above." if exercise.mine.name in said else
                      f"{said}\nThe build failed, but not because of {exercise.mine} (whole log: {self._build.name}/build.log).")
                return False
            if where == "On the GPU" and not self._build.runs_on_gpu():
                print(f"{where}: compiled, but not run, because no GPU was found")
                continue
            warnings = warnings or self._warnings(exercise.first_todo())
            done = self._test(target)
            report = self._report(where, done)
            ends = [launch for failure in self.failures for launch in failure.ends()]
            self._diverges = any(launch["kind"] == "divergence" for launch in ends)
            self._stopped = bool(ends)
            passed, timed_out = done.succeeded and not INDEX.search(done.text), done.timed_out
            self._timed_out = timed_out
            print("".join(f"{line}\n" for line in printed_lines(done.printed, f"{self._build.name}/exercise_printf.log")), end="")
            todo = exercise.first_todo() and where != "On the GPU" and not passed and not timed_out
            lights = self._light_up(target) if not passed and where != "On the GPU" else []
            left = self._unfinished() if todo else []
            empty = self._empty() if todo else []
            alone = next((hole for hole in self._red if hole not in empty), None) if empty else None
            if not left and alone and self._shows_alone(alone, empty, f"{where}: {done.how_it_ended(done.seconds) if done.crashed else 'WRONG RESULT'}", lights):
                print("".join(f"{line}\n" for line in self._within(alone, warnings)), end="")
                return self._verdict(passed, clean)
            found = self._found_alone([hole for hole in exercise.holes() if hole not in left]) if left else None
            if found:
                hole, what, lines = found
                self._red.insert(0, hole)
                self._green.remove(hole)
                lights = [f"{exercise.piece} {hole}: red" if line == f"{exercise.piece} {hole}: green" else line for line in lights]
                print("\n".join([*self._wrong_alone(hole, left, f"{where}: {what[0]}", lights, what[1]), *(f"X-ray: {line}" for line in lines)]))
                return self._verdict(passed, clean)
            if left:
                print("\n".join(self._right_so_far(where, left, lights)))
                return self._verdict(passed, clean)
            test, of_holes = [line for line in report if line.startswith("  test: ")], tests_of_holes(filter(None, [self.failing]), exercise.piece)
            report = [line for line in report if line not in test]
            several = [hole for hole in self._red if hole not in empty]
            # the failure mixes them, and the lights show each
            if len(several) > 1 and not done.crashed:
                report = [f"{report[0]}. Several {exercise.piece}s are wrong, each on its own: {', '.join(several)}"]
            if done.crashed and not self._host_touches:
                crash = report  # a crash explains little, so other findings come first
            else:
                print("\n".join(report))
                if not timed_out and not done.crashed and len(several) < 2:
                    self._look_wider(target, done)
            for place, index in dict.fromkeys(INDEX.findall(done.text)):
                print(f"{place}: {index}")
            if not passed:
                # A hole's own test runs the whole kernel. If that hole is right, the test's name
                # would mislead.
                of_another = any(f"{exercise.piece} {hole}: green" in lights for hole in of_holes)
                print("".join(f"{line}\n" for line in [*lights, *([] if of_another else test)]), end="")
                break
        if not exercise.needs_device:
            if not passed and not timed_out:
                self._asan()
        elif timed_out:
            if self._build.has_xray():
                print("X-ray: not run, because the tests ran out of time")
        elif not self._injected:
            clean = self._xray()
        if not passed and not timed_out and not self._injected and not self._xray_errors and len(self._red) < 2 and not self._absent_lane() and not self._first_nan():
            self._first_wrong()
        if not passed:
            print("".join(f"{line}\n" for line in [*self._left_beside(), *self._seen_in_the_text(), *warnings]), end="")
        if crash:
            print("\n".join(crash))
        return self._verdict(passed, clean)

    def _right_so_far(self, where, left, lights):
        """The lines to print if the holes `left` are empty and the others are right in the
        emulator."""
        are = f"{self._exercise.piece}{'s' if len(left) > 1 else ''} {', '.join(left)}"
        refused = (self._asked_nvcc() or ({}, []))[0]
        but = ["They are right in the emulator, but nvcc rejects the file:"] if refused else []
        return [f"{where}: the filled {self._exercise.piece}s are right. Not filled in yet: {are}", *lights,
                *but, *self._refusals(refused)]

    def _asked_nvcc(self):
        """The result of nvcc_rules.asked for the learner's file."""
        exercise = self._exercise
        if not exercise.needs_device:
            return {}, []
        return nvcc_rules.asked(exercise.mine, exercise.solution.parent)

    def _refusals(self, refused):
        return [f"{self._exercise.mine}:{line}: {why}" for line, why in refused.items()]

    def _verdict(self, passed, clean):
        exercise = self._exercise
        empty = self._empty()
        named = [hole for hole in ([] if passed or self._aside else self._diagnosed()) if hole not in (*self._green, *empty)]
        todo = None if self._unplaced else exercise.first_todo(empty)
        self._red = [hole for hole in named if hole in self._red] + [hole for hole in self._red if hole not in named]
        # each hole is right on its own
        together = bool(self._green) and not self._red and not passed and not self._timed_out
        of_xray = self._holes_at(self._lines_named_in(self._named_by_xray))
        is_right = passed and clean  # nvcc may still reject it, but hints do not explain that
        self.blamed = [] if is_right else self._red or named or of_xray
        self._note_red(self.blamed, exercise.holes() if is_right else () if of_xray else exercise.holes() if self._aside or self._unplaced else self._green)
        asked = self._asked_nvcc() if passed or self._xray_errors or self._timed_out else ({}, [])
        refused, doubles = asked or ({}, [])
        if refused:
            print("\n".join(["Everything is right in the emulator, but nvcc rejects it:" if is_right else
                             "nvcc rejects it, which may be the cause of the X-ray's finding:" if self._xray_errors else "nvcc rejects it:",
                             *self._refusals(refused)]))
            return False
        if passed and clean:
            print(f"Solved: {exercise.name}. {how_to_compare(exercise)}")
            if asked is None:
                print("We could not check whether nvcc accepts it, because neither clang nor nvcc is installed (apt-get install clang).")
            if began_with_ours(exercise).exists() and filecmp.cmp(ROOT / exercise.solution, ROOT / exercise.mine, shallow=False):
                print("You began with our solution and have changed nothing, so ./ladder learn does not count it as yours.")
            else:
                note_solved(exercise.name)
            mine, ours = text_of(exercise.mine), text_of(exercise.solution)
            for line in (too_narrow(mine, ours), unchecked(mine, ours), in_double(mine, ours, doubles), self._beside_ours(mine, ours), reward(exercise, self._counted.facts("budget") if self._counted else [])):
                if line:
                    print(line)
            more = ", ".join(name for name in more_of(exercise.lesson) if name not in (exercise.name, *solved()))
            if more:
                print(f"More of this lesson: ./ladder exercise {more}")
            following = next_exercise(exercise.name)
            print(f"Next: ./ladder exercise {following}" if following else "All exercises are solved. ./ladder learn shows what you can do next.")
            return True
        if passed and self._dearer:
            print("\n".join(filter(None, ["Right, but over budget.", self._of_the_only_hole()])))
        found_by = "the X-ray" if self._xray_errors else "AddressSanitizer" if self._out_of_bounds else ""
        has_formula = any(result["equals"] for result in facts_of(self.failures, "wrong result"))
        chance = ", and the result may equal that formula by chance" * has_formula
        first = f"Fix the finding of {found_by} first, because it may be the only mistake{chance}." if found_by and not passed else ""
        if len([hole for hole in self._red if hole not in empty]) > 1:
            first = ""  # several holes are wrong on their own, so it is not the only mistake
        elif first and self._aside and of_xray:
            first = f"The finding of {found_by} in {exercise.piece} {of_xray[0]} may follow from it, or be another mistake."
        if self._aside:
            number, line, stubs = self._aside
            what = f"{'where' if line else 'before which'} the stub has `{stubs.strip()}`" if stubs else f"which is outside the {exercise.piece}s"
            too = f"Without your changes outside the {exercise.piece}s something is still wrong, so check the {exercise.piece}s too." * self._not_all_aside
            print(" ".join(filter(None, [f"Next: {exercise.mine}:{number}, {what}.", first, too])))
        elif self._red and (todo is None or todo[0] != self._red[0]):
            which = "" if passed else ", the first red one" if self._red[0] == min(self._red, key=int) else ", which is red"
            print(f"Next: {exercise.piece} {self._red[0]}{which}{self._place_of(self._red[0])}. {first}".rstrip() + f"\nA hint: ./ladder exercise {exercise.name} --hint")
        elif todo and not (passed and self._xray_errors):
            print(f"Next: {todo[1]}\nA hint: ./ladder exercise {exercise.name} --hint")
        elif together:
            print(f"Each {exercise.piece} is right in our kernel, so check how they fit together: indices, order, barriers. {first}".rstrip())
            if of_xray:
                print(f"Next: {exercise.piece} {of_xray[0]}{self._place_of(of_xray[0])}.\nA hint: ./ladder exercise {exercise.name} --hint")
        else:
            if not passed:
                unknown = f"The mistake may be in any {exercise.piece}, or outside them." if self._unplaced else ""
                print(" ".join(filter(None, [unknown or self._of_the_only_hole(), first])) or "No TODO is left, but something is wrong.")
            elif not self._dearer:
                print("The tests pass, but see the X-ray's lines above.")
            of_one = f", or --hint HOLE for one of: {' '.join(exercise.holes())}" if len(exercise.holes()) > 1 else ""
            print(f"A hint: ./ladder exercise {exercise.name} --hint" + (f" HOLE, for one of: {' '.join(exercise.holes())}" if self._unplaced else of_one))
        return False


class WithoutHoles(Check):
    """A check that blames no hole."""

    def _light_up(self, target):
        return []

    def _holes_of(self, fault, target):
        return []

    def _note_red(self, holes, right=()):
        pass


class _Alone(WithoutHoles):
    """A check of our kernel with the learner's lines in one known hole. Returns whether nothing is
    wrong."""

    def _say_building(self):
        pass

    def _where_all_are_shown(self, target, test_filter):
        return ""  # the program no longer exists then

    def _verdict(self, passed, clean):
        return passed and clean


def build_ahead(exercise, build):
    """Builds what the first check needs, while the learner writes."""
    build.prepare(exercise.target + ("_emulated" if exercise.needs_device else ""))
    check = Check(exercise, build)
    targets = [target for _, target in check.back_ends()]
    if exercise.needs_device and build.has_xray():
        targets = dict.fromkeys([*targets, f"{exercise.target}_xray"])
    build.build(*targets)
