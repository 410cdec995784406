"""One check of ./ladder exercise: compiles the learner's file, tests it, examines failures, and
prints a verdict."""
import contextlib
import copy
import difflib
import filecmp
import functools
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from ladder_tools import gtest, nvcc_rules
from ladder_tools.building import Variant, say
from ladder_tools.cases import first_tests, plainest, what_fails, without_large_repeats
from ladder_tools.hints import Hints
from ladder_tools.learning import called_by_kernels, counts_elements, in_double, more_of, next_exercise, note_solved, own_arrays, reward, solved, too_narrow, unchecked, without_size
from ladder_tools.patches import Written, first_out_of_order, header, hole_of, holes_of, is_code, not_as_ours, patched, put_back, same_code, until, with_a_line_back, without_aside
from ladder_tools.place import ROOT, Refused, mistakes, text_of
from ladder_tools.values import Trail, first_wrong

# Tests that would keep a learner waiting for nothing. Long sequences repeat short ones, the X-ray
# sees races and misaligned accesses in the other tests and counts for the budget, and the choice of
# cases is our concern.
_NOT_IN_THE_LOOP = re.compile(r"1000|\.KeepsItsBudget|\.IsRepeatable|\.TakesOrRefusesAnyAlignment|CasesHoldEveryPair")
# an access out of bounds may be harmless, so the X-ray runs this even if all tests pass
_IN_BOUNDS = "*StaysInBounds*"
_FINDS = f"{_IN_BOUNDS}:*KeepsItsBudget"  # the tests under the X-ray that always run
# so small that the X-ray's program also runs the tests, which saves a build
_SMALL_PROBLEMS = "00."
# an index far past an array's end must not reach the next array
_ASAN = "detect_leaks=0:redzone=2048"

_NOT_COMPILED = "it does not compile."
# libstdc++'s words
_BEYOND_A_VECTOR = re.compile(r"^.*/stl_vector\.h:[0-9]+: .*Assertion '__n < this->size\(\)' failed\.$")
# UBSan's words
_INDEX = re.compile(r"^\S*?/?(my/\S+:[0-9]+):[0-9]+: runtime error: (index \S+ out of bounds for type .*)$", re.MULTILINE)


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


# g++'s messages about an argument that the kernel does not accept, with the place of the launch.
_ARGUMENT = re.compile(r"^\S+: +required from .*detail::Configured.*\n(\S+: ) +required from .*\n(?:\S+: +required from .*\n)*"
                       r"\S+: error: static assertion failed: an argument of the launch .*\n(?: .*\n)*"
                       r"\S+: note: .*argument_fits<(\d+), (.*), (.*)>.*$", re.MULTILINE)


# Names that CUDA may have and the emulator may lack.
_LIKE_CUDAS = re.compile(r"error: ['‘](__[a-z]\w*|clock64|(?:cuda|atomic)[A-Z]\w*)['’] "
                         r"(?:was not declared in this scope|does not name a type)")

_UP_TO_MINE = re.compile(r"(?<![\w/.])\.\./(?=my/)")  # ccache makes paths relative


def compiler_messages(log, most_lines=30):
    """The compiler's messages without the build tool's lines, with paths from ROOT. An error in
    every instantiation of a template appears once, with its source line. Errors are sorted by the
    learner's lines."""
    said, lines = [], iter(_ARGUMENT.sub(r"\1error: argument \2 of the launch is \3; the kernel takes \4", log).splitlines())
    for line in lines:
        if line.startswith("FAILED: "):
            next(lines, None)  # the command itself
        elif not re.match(r"\[ *[0-9]+[%/]|ninja: |g?make", line):
            said.append(_UP_TO_MINE.sub("", line.replace(f"{ROOT}/", "")))
    # {place: (lines of the message, count)}; the learner's line that caused the instantiation
    errors, asked_for, words = {}, "", None
    lines_of_mine = {}  # {place: line}
    for line in said:
        error = re.match(r"((?:\S+:\d+:\d+|\S+\(\d+\)): (?:fatal )?error: ).*", line)
        if error:
            words, times = errors.get(error[1], ([line], 0))
            errors[error[1]] = (words, times + 1)
            mine = re.search(r"my/\S*?[:(](\d+)", error[1]) or re.search(r"my/\S*?[:(](\d+)", asked_for)
            lines_of_mine.setdefault(error[1], int(mine[1]) if mine else sys.maxsize)
            if times:
                words = None  # a repetition
            elif asked_for and "my/" not in error[1]:
                words.append(asked_for)
        elif re.match(r" +(\d+ )?\|", line):
            if words is not None:
                words.append(line)
        elif words and ": note:   initializing argument " in line:
            words.append(line)
            words = None
        elif re.search(r"my/.*required from here", line):
            asked_for = line
        else:
            words = None
            if re.search(r": In |^In file included", line):
                asked_for = ""
    if not errors:
        return "\n".join(said[:most_lines])
    shown = ["threadIdx, blockIdx, blockDim and gridDim are not numbers. Use their members .x, .y and .z."] * bool(re.search(r"error: .*'(?:const )?(?:uint3|dim3)'", log))
    shown += [f"The emulator has no {name}. If CUDA has it, your line may be right. "
              f"To check it here, do the same without {name}."
              for name in dict.fromkeys(_LIKE_CUDAS.findall(log))]
    # the cause comes before its consequences
    for _, (words, times) in sorted(errors.items(), key=lambda each: lines_of_mine[each[0]]):
        shown += words + ([f"(and {times - 1} more of the same)"] if times > 1 else [])
    return "\n".join(shown[:most_lines])


def compiler_warnings(log, mine, unfinished, most=3):
    """{the compiler's warning about the learner's file: its line}. An unfinished file has unused
    names, which mean nothing."""
    found = {}  # {(line, kind): sentence}
    for path, line, words, kind in re.findall(r"^(.+?):([0-9]+):[0-9]+: warning: (.*) \[-W([a-z-]+)=?[0-9]*\]$", log, re.MULTILINE):
        if path.endswith(f"/{mine}") and not (unfinished and kind.startswith("unused")):
            found.setdefault((int(line), kind), f"Compiler warning, line {line} of {mine}: {words}")
    return {found[place]: place[0] for place in sorted(found)[:most]}


_MOST_LINES = 20  # of a failed test's report


# GoogleTest's words. The forms of EXPECT_LE and its like, and of EXPECT_TRUE.
_ORDER = re.compile(r"^Expected: \((.*)\) (<=|<|>=|>) \((.*)\), actual: (.*) vs (.*)$", re.MULTILINE)
_ORDER_WORDS = {"<=": "at most", "<": "less than", ">=": "at least", ">": "more than"}
_TRUTH = re.compile(r"^Value of: (.*)\n  Actual: (true|false)\nExpected: (true|false)$", re.MULTILINE)
_EQUALITY = re.compile(r"^Expected equality of these values:\n  (.*)\n(?:    Which is: (.*)\n)?  (.*)(?:\n|$)(?:    Which is: (.*)(?:\n|$))?", re.MULTILINE)
_THROWN = 'C++ exception with description "'


def facts_of(failures, kind):
    return [fact for failure in failures if isinstance(failure, gtest.Told)
            for fact in failure.facts(kind)]


def short_places(line):
    """The line with paths from ROOT, and without a place in the tests' sources before it."""
    # a header's path begins with ../
    line = re.sub(r"(?<![\w/.])\.\./(?=\w+/)", "", line.replace(f"{ROOT}/", ""))
    return re.sub(r"^(?!(\.\./)?my/)\S*\.[ch]pp:[0-9]+: ", "", line)


def words_of(failure, most_lines=20):
    """The judge's words in a failure of GoogleTest, without repetitions."""
    shown, values = [], ""
    # ./ladder test shows the limits, and the case is in the test's name already
    left_out = {line for result in facts_of([failure], "wrong result")
                for line in (*result["numbers"], result["case"])}
    # this error tells nothing that its reason does not
    reasons = [launch["message"].partition("\n")[0] for launch in facts_of([failure], "failed launch")
               if launch["error"] == "cudaErrorLaunchFailure"]
    equality = _EQUALITY.search(failure)
    if equality and equality[2]:
        # A call may be one of the learner's functions. Other expressions are the test's own, and
        # mean little beside the judge's words.
        what = equality[1] if "(" in equality[1] or "WRONG RESULT" not in failure else "it"
        values = f"  {what} is {equality[2]}, should be {equality[4] or equality[3]}"
        failure = _EQUALITY.sub("", failure, count=1)
    failure = _ORDER.sub(lambda found: f"{found[1]} is {found[4]}, should be {_ORDER_WORDS[found[2]]} {found[5]}", failure)
    failure = _TRUTH.sub(r"\1 is \2, should be \3", failure)
    for line in failure.splitlines()[1:]:  # the first line is the place in the test's source
        if (not line.strip() or line.endswith(": Failure") or line in (")", "Google Test trace:", "Expected: true", "  Actual: it does.") or line in left_out
                or line.startswith("Value of: is_right") or line.endswith("new fatal failures in the current thread.")):
            continue
        if "WRONG RESULT" in line:  # GoogleTest's lines before it name the test's own variables
            shown = []
        line = re.sub(r"^  Actual: false \(|\" thrown in the test body\.$", "", line)
        if line.startswith(_THROWN):
            line = line.removeprefix(_THROWN)
            line = next((line[line.find(why):] for why in reasons if why in line), line)
        shown.append(f"  {short_places(line)}")
    if values:
        shown.insert(1 if shown and "WRONG RESULT" in shown[0] else 0, values)
    return shown[:most_lines]


def _unnamed(failure):
    """Whether the judge rejected a result without a sentence about it, so that an element follows
    WRONG RESULT."""
    result = next(iter(facts_of([failure], "wrong result")), None)
    said = [line for line in words_of(failure) if result and line.strip() not in result["unnamed"]]
    return len(said) > 1 and (not said[1].endswith(".") or result["all_zero"])


def tests_of_holes(names, piece="hole"):
    """{hole: its own tests}: TEST(fills, Hole2WritesTheElements) belongs to hole 2, and TEST(fills,
    Stage2WritesTheElements) to stage 2."""
    found = {}
    for name in names:
        hole = re.search(rf"\.{piece.title()}([0-9]+)[A-Z]", name)
        if hole:
            found.setdefault(hole[1], []).append(name)
    return dict(sorted(found.items()))


def shown_name(name):
    """A test's name without its hole. A failure in it may be another hole's, and the lights show
    whose."""
    return re.sub(r"\.(Hole|Stage)[0-9]+(?=[A-Z])", ".", name)


def lines_of(failures):
    """The lines of a test's failures. If a failure begins like the previous one, only the new
    lines."""
    said, before = [], ()
    orders = {f"  {fact['message']}" for fact in facts_of(failures, "order of threads")}
    for words in dict.fromkeys(tuple(words_of(failure)) for failure in failures):
        alike = next((at for at, (one, other) in enumerate(zip(words, before)) if one != other), min(len(words), len(before)))
        lines = [line for line in words[alike:] if not (line in orders and line in said)]
        if alike and lines:  # a line without its beginning would mean nothing
            lines[0] = f"  in another check: {' '.join(lines[0].split())}"
        said += lines
        before = words
    return said


def told_of(done, seconds):
    """The first failure of a run, as one sentence if it has one."""
    failed = done.first_failure()
    said = [line.strip() for line in lines_of(failed["failures"]) if line.strip() != "Failed"] if failed else []
    # a map's points end no sentence
    maps = {line.strip() for result in facts_of(failed["failures"] if failed else [], "wrong result")
            for line in result["map"]}
    sentence = next((line for line in said if line.endswith(".") and line not in maps
                     and not line.startswith("WRONG RESULT")),
                    ", ".join(said[:2] if said and "WRONG RESULT" in said[0] else said[:1]))
    return sentence or done.how_it_ended(seconds)


def asan_finding(text):
    """The first access out of bounds in the learner's file, in one line; None if AddressSanitizer
    names none."""
    kind = re.search(r"ERROR: AddressSanitizer: (\S+)", text)
    if kind is None:
        return None
    report = text[kind.end():].partition(" is located ")
    access = re.search(r"^(READ|WRITE) of size ([0-9]+)", report[0], re.MULTILINE)
    places = re.findall(r"^ *#[0-9]+ .*/((?:my|build[^/ ]*/mistaken)/.*)$", report[0], re.MULTILINE)[:2]
    if not places:
        return None
    guarded = kind[1] == "use-after-poison"  # our own poisoned zone around an array
    where = re.sub(r" \[.*| in thread.*", "", report[2].splitlines()[0]) if report[2] and not guarded else ""
    what = "array access out of bounds" if guarded else kind[1]
    return (f"AddressSanitizer: {what} at {', called at '.join(places)}" + (f", {access[1].lower()} of {access[2]} bytes" if access else "")
            + (f", {where}" if where else ""))


def printed_lines(text, file, most=20):
    """The first lines that kernels printed; `file` has all."""
    lines = text.splitlines()
    more = [f"  ... {len(lines) - most} more lines in {file}"] if len(lines) > most else []
    return (["printed by the kernel:"] if lines else []) + [f"  {line}" for line in lines[:most]] + more


def short(count):
    """The number without an exponent, not 1.638e+04."""
    return f"{count:.4g}" if count < 1e4 else f"{count:.0f}"


def placed_all(findings, place):
    """Each finding of the X-ray or other sentence once, with its places mapped by `place`."""
    return list(dict.fromkeys(each.placed(place) if isinstance(each, gtest.Finding) else place(each) for each in findings))


def _lines_in(mine, finding):
    """The lines at which a finding's accesses are: numbers for the learner's file; for a helper,
    its caller there."""
    lines = []
    for places in getattr(finding, "parties", ()):
        of_mine = [place.rpartition(":")[2] for place in places if place.startswith(f"{mine}:")]
        lines += of_mine[:1] or places[:1]
    return tuple(dict.fromkeys(lines))


def most_telling(findings, mine, most=3, pairs=3):
    """A few of the X-ray's findings in order: the first per cause, and for a race the other lines
    in short. And how many are left out."""
    shown, elsewhere = {}, {}
    # the one that needs the stronger barrier comes first
    for finding in sorted(findings, key=lambda each: getattr(each, "in_a_warp", False)):
        cause, lines = getattr(finding, "cause", (finding, "")), _lines_in(mine, finding)
        if cause not in shown and len(shown) < most:
            shown[cause], elsewhere[cause] = finding, {lines: 1}
        elif cause in shown:
            elsewhere[cause][lines] = elsewhere[cause].get(lines, 0) + 1
    said, told = [], 0
    for cause, finding in sorted(shown.items(), key=lambda each: findings.index(each[1])):
        first, *others = elsewhere[cause].items()
        some = others[:pairs] if cause[0] == "race" else []
        said.append(finding)
        if some:
            said.append(f"  the same at lines {', '.join(' and '.join(2 * lines if len(lines) == 1 else lines) for lines, _ in some)}")
        told += first[1] + sum(count for _, count in some)
    return said, len(findings) - told


_ALIKE = 1.02  # a ratio up to which counts are alike


def more_than_ours(yours, ours, most=4):
    """Counters that are higher in the budgets' cases than in our kernel: "barriers 6 (ours 4)".
    Both arguments are facts of the programs."""
    said = [f"{words} {count:,} (ours {other['counts'][words]:,})" for one, other in zip(yours, ours)
            for words, count in one["counts"].items() if count > _ALIKE * other["counts"][words]]
    return list(dict.fromkeys(said))[:most]


def in_files_of(mine, kernel, text, name, said):
    """The sentence `said` with the places in a mixed text, called `name`, replaced by places in its
    sources, {path: text} for the learner's copy and for our kernel. A line that is in both counts
    as the copy's. For some lines the compiler gives the name of the emulator's copy."""
    lines, at = text.splitlines(), {}
    for path, from_text in (*kernel.items(), *mine.items()):
        for block in difflib.SequenceMatcher(None, from_text.splitlines(), lines, autojunk=False).get_matching_blocks():
            at.update({block.b + n + 1: (path, block.a + n + 1) for n in range(block.size)})
    here = next(iter(mine))

    def place(found):
        path, line = at.get(int(found[1] or found[2]), (here, 0))
        return (f"{path}:{line}" if found[2] else f"line {line} of {path}") if line else str(path)
    return re.sub(rf"\bline ([0-9]+) of {re.escape(name)}|{re.escape(name)}(?:\.cpp)?:([0-9]+)", place, said).replace(name, str(here))


class Check:
    """One check: compile, test, look closer."""

    def __init__(self, exercise, build):
        self._exercise = exercise
        self._build = build
        self._seconds = seconds_allowed(exercise)
        self._compiled = set()
        # holes that are wrong on their own, and those that are right
        self._red, self._green = [], []
        # (number, line, the stub's line or "") of a change outside the holes with which our kernel
        # is wrong too
        self._aside = None
        self._unplaced = False  # no hole can be blamed, perhaps none is wrong
        self._not_all_aside = False  # the learner's file is wrong without these changes, too
        self._named_by_xray = ""  # the X-ray's lines about mistakes
        self.blamed = []  # the holes with which hints begin
        self._target = exercise.target
        self.failing = None  # the failing test
        # the sentences about its first wrong value, and the touch
        self.wrong_values, self.wrong_touch = [], None
        self._dearer = False  # over budget
        self._xray_errors = False  # a race, an out-of-bounds access, ...
        self._out_of_bounds = False  # found by AddressSanitizer
        # the emulator's sentence about a shuffle that reads a lane without a value
        self._absent = ""
        self._under_the_first = False  # the X-ray's run failed with the first order of threads
        self._host_touches = ""  # the emulator's sentence about it
        self._timed_out = False
        self._diverges = False  # threads wait at different barriers, and races follow from that
        # the test made a call fail, so what the kernels then do is not the learner's mistake
        self._injected = False
        self._nan_input = False  # the test itself passes a NaN
        # a thread's error ended the launch, so the other threads store nothing more
        self._stopped = False
        self._names = []  # of the tests that a check may run
        self._wrong = []  # the failing cases, if they were examined
        self._said = ""  # the failing test's report
        self.failures = []  # the same, each with its facts
        self._counted = None  # the Run of the budgets' cases under the X-ray

    def _compile(self, target):
        if target in self._compiled:
            return True
        if not self._compiled:  # once; the build itself shows how far the others are
            self._say_building()
        if not self._build.compile(target):
            return False
        self._compiled.add(target)
        return True

    def _say_building(self):
        say(f"building ({self._build.name})" + ("" if self._build.log.exists() else ", which takes some minutes the first time"))

    def told(self, findings):
        """The X-ray's findings to print, and how many are left out. See most_telling."""
        return most_telling(findings, self._exercise.mine)

    def _warnings(self, unfinished):
        return compiler_warnings(text_of(self._build.log), self._exercise.mine, unfinished)

    def _where_all_are_shown(self, target, test_filter):
        return f": ./{self._build.name}/{target} --gtest_filter='{test_filter}' shows all"

    def _run(self, target, *options, seconds=None, **more):
        done = gtest.run(self._build.folder / target, seconds or self._seconds, *options, **more)
        done.seconds = seconds or self._seconds
        return done

    def _diagnosed(self):
        """The holes whose planted mistakes have the diagnosis that was printed, the longest
        diagnosis first."""
        texts = {patch: header((ROOT / patch).read_text(), "diagnosis") for patch in mistakes().values() if patch.parents[2] == self._exercise.folder}
        said = sorted((patch for patch, words in texts.items() if words in self._said), key=lambda patch: -len(texts[patch]))
        return list(filter(None, (hole_of(self._exercise, patch) for patch in said)))

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

    def _seconds_of(self, test_filter):
        """The limit for small cases, which take a tenth of a second: an endless loop shows long
        before the limit of all tests."""
        return max(1, self._seconds // 6) if test_filter in first_tests(self._names) else None

    def _note_red(self, holes, right=()):
        Hints(self._exercise).note_red(holes, right)

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
                number, line, stubs = self._guilty(written, holes, lambda text: self._fault(target, text, asked) not in ("", _NOT_COMPILED))
                what = f"where the stub has `{stubs.strip()}`" if stubs else f"which is outside the {exercise.piece}s"
                # that does not blame the line, which may only rename something
                if fault == _NOT_COMPILED:
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
        if len(faults) > 1 and set(faults.values()) == {_NOT_COMPILED}:  # one declares what another uses
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
        self._not_all_aside = not moved and fault not in ("", _NOT_COMPILED)
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

    def _unfinished(self):
        """The empty holes, if some are filled and each of these is right on its own. A failure then
        is no news."""
        left = self._empty()
        return left if self._red and set(self._red) <= set(left) and len(left) < len(self._exercise.holes()) else []

    def _empty(self):
        """The holes with a TODO and no line of code; all with a TODO, if lines cannot be
        attributed."""
        mine = text_of(self._exercise.mine)
        written = holes_of(self._exercise).of(mine)
        return [hole for hole in self._exercise.holes() if f"TODO({hole})" in mine and not written.begun(hole)]

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
            done = self._under_the_xray(f"{self._target}_xray", text, _FINDS) if text != kernel else None
            if done is None:
                continue
            placed = self._placed(text, done.variant)
            found = done.findings() or list(filter(None, [self._ends(done)]))
            if found:
                return hole, ("the X-ray finds a mistake", "is wrong"), self.told(placed_all(found, placed))[0]
            if done.is_dear():
                return hole, ("over budget", "is over budget"), list(map(placed, self._budget(done, only_too_many=True)))
        return None

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

    def _seen_in_the_text(self):
        texts = text_of(self._exercise.mine), text_of(self._exercise.solution)
        return [*own_arrays(*texts), *without_size(*texts), *called_by_kernels(*texts), *counts_elements(*texts)] if self._exercise.needs_device else []

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
        done = self._under_the_xray(target, text, f"{_FINDS}:{self.failing}" if self.failing else _FINDS)
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
                return _NOT_COMPILED
            placed = self._placed(text, variant)
            for each in [*first_tests(self._names), ":".join(filter(None, tests))]:
                seconds = self._seconds_of(each) or self._seconds // 2
                done = gtest.run(variant.folder / target, seconds, test_filter=each)
                if not done.succeeded:
                    return placed(told_of(done, seconds))
                if index := _INDEX.search(done.text):
                    return placed(f"{index[1]}: {index[2]}.")
            rest = gtest.run(variant.folder / target, self._seconds, "--gtest_fail_fast", test_filter=":".join(self._names)) if whole else None
            return "" if rest is None or rest.succeeded or rest.timed_out else placed(told_of(rest, self._seconds))

    def _report(self, where, done):
        """The result of the tests in words."""
        self._said += "" if done.succeeded else done.text
        if done.timed_out or done.crashed:
            self.failing, said = done.last_begun()
            self.failures.append(done.told("\n".join(said)))
            said = list(dict.fromkeys(_BEYOND_A_VECTOR.sub("an index is past the end of a std::vector", line) for line in said))
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

    def _look_wider(self, target, done):
        """If a case fails and the words do not give the reason, prints which cases fail, and the
        report of the simplest."""
        failed = done.first_failure()
        if failed is None or "MatchesReference/" not in failed["name"] or not _unnamed(failed["failures"][0]):
            return
        suite = failed["name"].partition("MatchesReference/")[0]
        names = [name for name in self._names if name.startswith(f"{suite}MatchesReference/")]
        all_of_them = self._run(target, test_filter=":".join(names), environment={"LADDER_NO_NAMES": "1"})
        if all_of_them.crashed:  # a crash leaves no list of tests
            crashed = all_of_them.last_begun()[0]
            self._wrong = [failed["name"], crashed]
            print(f"  another case crashes: {crashed}")
            return
        wrong = [each["name"] for each in all_of_them.tests if each["failures"]]
        right = [each["name"] for each in all_of_them.tests if not each["failures"] and not each["skipped"]]
        self._wrong = wrong
        text = what_fails(right, wrong)
        if text:
            print(f"  {text}")
        if not wrong:
            return
        one = plainest(wrong)
        if one == failed["name"]:
            return
        closer = self._run(target, test_filter=one).first_failure()
        if closer:
            self.failing = one
            self._said += "\n".join(closer["failures"])
            self.failures += closer["failures"]
            print("\n".join([f"  the simplest of them: {one}", *(f"  {line}" for line in words_of(closer["failures"][0], 7)[1:])]))

    def _asan(self):
        target = f"{self._target}_asan"
        if not self.failing or not self._compile(target):
            return
        tests = ":".join(self._wrong or [self.failing])
        environment = {"ASAN_OPTIONS": _ASAN, "LADDER_NO_NAMES": "1", "LADDER_POISON_GUARDS": "1"}
        finding = asan_finding(self._run(target, test_filter=tests, environment=environment).text)
        if finding:
            self._out_of_bounds = True
            print(finding)

    def _first_nan(self):
        """Prints the line of the learner's file where the first NaN arises from numbers, if the
        failing test met a NaN. Whether there is one."""
        said = text_of(self._build.folder / "exercise.log")
        if not self.failing or self._nan_input or not re.search(r"\bnan\b", said, re.IGNORECASE):
            return False
        target = f"{self._target}_{'xray' if self._exercise.needs_device else 'asan'}"
        if self._exercise.needs_device and not self._build.has_xray() or not self._compile(target):
            return False
        arising = self._nans(target, self._exercise.mine)
        ours = f"{self._target}_ours"
        # Our kernel may make a NaN too and discard it, by a choice between two computed numbers.
        harmless = {made for *_, made in self._nans(ours, self._exercise.solution)} if arising and self._exercise.needs_device and self._compile(ours) else set()
        places = [(line, who) for line, who, made in arising if made not in harmless]
        if not places:
            return False
        first, who = places[0]
        if set(self._holes_at([first])) & set(self._green):
            return False  # its cause is in a wrong hole
        above = next((line for line, its in places if its == who and line < first), None)
        also = f". Another arises at {self._exercise.mine}:{above} in the same thread; the compiler may have swapped the two" if above else ""
        print(f"The first NaN arises at {self._exercise.mine}:{first}{who}, in an operation on finite or infinite numbers{also}")
        return True

    def _nans(self, target, source):
        environment = {"LADDER_TRACE_NAN": "1", "LADDER_NO_NAMES": "1", "OMP_NUM_THREADS": "1", "ASAN_OPTIONS": _ASAN}
        done = self._run(target, test_filter=self.failing, environment=environment)
        return list(gtest.nans(done.text, self._build.folder / target, source))

    def _xray(self):
        """Prints what the X-ray finds in the failing test, if there is one, and the budget of the
        learner's kernel. Whether nothing is wrong."""
        if not self._build.has_xray():
            return True
        target = f"{self._target}_xray"
        if not self._compile(target):
            print(f"X-ray: its program could not be built (whole log: {self._build.name}/build.log)")
            return False
        shown, errors, passed = [], [], not self.failing
        done, text, clean = None, "", True
        for test_filter in (self.failing or _IN_BOUNDS, "*KeepsItsBudget"):
            keep = {"LADDER_XRAY_VALUES": str(self._values("yours"))} if test_filter == self.failing else {}
            done = self._run(target, test_filter=test_filter, environment={"LADDER_NO_NAMES": "1", **keep})
            text += done.text
            if test_filter == self.failing:
                self._absent = next((absent["message"].replace(f"{ROOT}/", "")
                                     for absent in done.facts("absent lane")), "")
                self._said += done.text
                self._under_the_first = not done.facts("order of threads")
            clean = clean and done.status == 0
            if test_filter == _IN_BOUNDS and done.status != 0:
                failed = done.first_failure()
                self.failing = failed["name"] if failed else done.last_begun()[0]
            if not errors and not self._diverges:
                touches = [touch["message"] for touch in done.facts("host access")
                           if touch["message"] != self._host_touches]
                errors = list(dict.fromkeys([*touches, *done.findings()]))
                # the emulator alone may miss it if other memory follows an array
                if not errors and not self._stopped:
                    errors = list(filter(None, [self._ends(done)]))
                self._xray_errors = bool(errors)
                telling, more = self.told(errors)
                shown += telling
                if more:
                    shown.append(f"{more} more{self._where_all_are_shown(target, test_filter)}")
        if done.timed_out or done.crashed and not done.facts("host access"):
            shown.append(done.how_it_ended(done.seconds))
        shown += [stopped["message"] for stopped in done.facts("stopped")]
        shown += self._budget(done)
        self._counted = done
        (self._build.folder / "exercise_xray.log").write_text(text)
        if not self.failing and clean and not shown:
            shown = ["nothing is wrong"]
        for line in shown:
            print(f"X-ray: {line}")
        self._named_by_xray = "\n".join(shown)
        if passed and (errors or self._dearer and not self.failing):
            self._red = self._holes_of(self._is_found if errors else self._is_dear, target)
            for hole in self._red:
                piece = f"{self._exercise.piece} {hole}"
                print(f"Our kernel with your lines of {piece} " + (f"has a finding too, so the mistake is in {piece}." if errors else
                                                                   f"is over budget too, so the cost is in {piece}."))
            self._green = [hole for hole in self._exercise.holes() if self._red and hole not in self._red]
        return clean

    @staticmethod
    def _ends(done):
        """The error that ended a launch of these tests, with its place, or ""."""
        failures = (done.first_failure() or {"failures": []})["failures"]
        return next((short_places(launch["message"].partition("\n")[0])
                     for failure in failures for launch in failure.ends()), "")

    def _values(self, whose):
        return self._build.folder / f"exercise_values.{whose}"

    def _absent_lane(self):
        """Prints the shuffle of the failing test that reads a lane without a value, if our kernel
        has none. Whether there is one."""
        target = f"{self._target}_ours"
        if not self._absent or self._stopped or not self._compile(target):
            return False
        ours = self._run(target, test_filter=self.failing, environment={"LADDER_NO_NAMES": "1"})
        if ours.facts("absent lane"):
            return False
        print(f"{self._absent}.")
        return True

    def _first_wrong(self):
        """Prints where the first value goes wrong in the failing test, compared with our kernel in
        the same test."""
        yours, ours, target = self._values("yours"), self._values("ours"), f"{self._target}_ours"
        if not self.failing or self._diverges or not yours.exists() or not self._compile(target):
            return  # after divergent barriers, wrong stores are everywhere
        as_far = {"LADDER_MOST_SCHEDULES": "1"} if self._under_the_first else {}
        self._run(target, test_filter=self.failing, environment={"LADDER_XRAY_VALUES": str(ours), "LADDER_NO_NAMES": "1", **as_far})
        if ours.exists():
            name = self.failing + getattr(self.failing, "case", "")
            half = "b" if "bf16" in name else "e" if "fp16" in name else None
            self.wrong_values, self.wrong_touch = first_wrong(Trail(yours), Trail(ours), half, self._stopped)
            print("".join(f"{line}\n" for line in self.wrong_values), end="")
        for path in (yours, ours):
            path.unlink(missing_ok=True)

    def _beside_ours(self, mine, ours):
        """The counters in which a right kernel within its budget exceeds ours."""
        target = f"{self._target}_ours"
        counted = self._counted.facts("counters") if self._counted else []
        if mine == ours or not counted or not self._compile(target):
            return ""
        more = more_than_ours(counted, self._run(target, test_filter="*KeepsItsBudget").facts("counters"))
        return f"More than in our kernel, in the budget's case: {', '.join(more)}." if more else ""

    def _budget(self, done, only_too_many=False):
        """The lines about the budget; if the result is wrong, only those over it."""
        shown = []
        for fact in done.facts("budget"):
            used, allowed, what = fact["used"], fact["allowed"], fact["what"]
            of = f", per {fact['per']}, {fact['implementation']}" if fact["per"] else ""
            too_many = used > allowed
            self._dearer |= too_many
            if too_many:
                shown.append(f"{short(used)} of {short(allowed)} {what}{' used' if of else ''}{of}  <- too many")
            elif not (self.failing or only_too_many) and (used > 0 or allowed > 0 or not what.startswith("global ")):
                shown.append(f"budget {short(allowed)}, used {short(used)}: {what}{of}")
            if fact["dearest"] and (too_many or not only_too_many):
                shown.append(f"  {fact['dearest'].replace(f'{ROOT}/', '')}")
        return shown

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
            passed, timed_out = done.succeeded and not _INDEX.search(done.text), done.timed_out
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
            for place, index in dict.fromkeys(_INDEX.findall(done.text)):
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
        chance = ", and the result may equal that formula by chance" if any(result["equals"] for result in facts_of(self.failures, "wrong result")) else ""
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
