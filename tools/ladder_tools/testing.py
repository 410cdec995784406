"""./ladder test: builds tests and runs them with ctest, and prints a line per chapter meanwhile."""
import collections
import json
import os
import re
import subprocess
import sys

from ladder_tools.building import Build, Progress, cores, run_program
from ladder_tools.patches import header
from ladder_tools.place import ROOT, Failed, Refused, bosses, chapters, exercises, lesson_of, lessons, mistakes, number_of, place_of, refused, text_of
from ladder_tools.rows import operators, rows

# The ctest options that make sense here, and whether each takes a value.
_CTEST = {"-R": True, "--tests-regex": True, "-E": True, "--exclude-regex": True, "-L": True, "--label-regex": True, "-LE": True,
          "--label-exclude": True, "-j": True, "--parallel": True, "--timeout": True, "--repeat": True, "-I": True,
          "--tests-information": True, "--output-junit": True, "--output-log": True, "-O": True, "--stop-on-failure": False,
          "--rerun-failed": False, "--schedule-random": False, "--output-on-failure": False, "-V": False, "--verbose": False,
          "-VV": False, "--extra-verbose": False, "-N": False, "--show-only": False, "-Q": False, "--quiet": False,
          "--progress": False, "--no-label-summary": False}
_CTESTS_OWN_OUTPUT = {"-V", "--verbose", "-VV", "--extra-verbose", "-N", "--show-only", "-Q", "--quiet", "--progress"}
_ON_DEMAND = "^(mistake|stub|boss)$"  # labels of tests that are built and run only on demand
# The seconds may follow some lines later, after a regular expression that was not found.
_RESULT = re.compile(r"^ *(\d+)/(\d+) Test +#\d+: (.*?)[ .]*(Passed|\*\*\*.*?|Not Run.*?)(?: +([\d.]+) sec *)?$")
_LACKS = {"stub": "exercise", "mistake": "mistake", "boss": "boss"}
_SHOWN_FAILURES = 5
_SHOWN_LINES = 30


def must_fail(word):
    """(target, regular expression of the tests) for mistakes, stubs, bosses, mistake.05,
    mistake.05.NAME, stub.07.02_chunk_walk, ..."""
    groups = {"mistakes": ("mistakes", "mistake\\."), "stubs": ("exercises", "stub\\."), "bosses": ("bosses", "boss\\.")}
    if word in groups:
        return groups[word]
    known = {f"mistake.{name}" for name in mistakes()}
    known |= {f"stub.{each.lesson}.kernel" for each in exercises()} | {f"stub.{each.name}" for each in exercises("scratch")}
    known |= {f"boss.{name.removesuffix('.boss')}.kernel" for name in bosses()}
    kind, _, rest = word.partition(".")
    short = re.fullmatch(r"([0-9]{1,2}\.[0-9]{1,2}[a-z]?)(\..+)?", rest)
    if short:  # mistake.07.2
        word = f"{kind}.{lesson_of(place_of(short[1]).folder)}" + (short[2] or "")
    if word in known:
        return word, re.escape(word) + "$"
    if any(name.startswith(word + ".") for name in known):
        return word, re.escape(word) + "\\."
    rest = word.partition(".")[2]
    if kind in _LACKS and rest in (f"{number_of(chapter)}{lesson and f'.{lesson}'}" for chapter in chapters() for lesson in ("", *lessons(chapter))):
        raise Refused(f"test is '{word}'; {rest} has no {_LACKS[kind]}")
    near = sorted(name for name in known if name.startswith(word[:word.find(".") + 3])) or sorted(known)
    raise refused("test", word, ["mistakes", "stubs", "bosses", "mistake.05", "mistake.07.2", "stub.05", *near])


_PROGRAMS = {"reference": "reference_tests", "program": "program_tests", "emulator": "emulator_tests", "xray": "xray_tests",
             # programs outside the chapters
             "cuda.tiles": "tiles_tests", "cuda.hopper": "hopper_tests"}


def single_test(word):
    """(target, label, GoogleTest's filter) for one test by the name in a failure,
    chapter05.emulated.wkv_float4.IsRepeatable, or by wkv_float4.IsRepeatable, which is searched
    for. None for other words."""
    match = re.fullmatch(r"(?:(.+)\.)?([A-Za-z_]\w*\.[^.\s]+)", word)
    if not match or re.match(r"(mistake|stub|boss)\.|chapter\d\d[^.]*\.[^.]*$", word):
        return None
    entry, test = match.groups()
    if entry in _PROGRAMS:
        return _PROGRAMS[entry], f"^{room_of(entry)}$", test
    if entry:
        lesson = re.fullmatch(r"(?:chapter(\d\d)(?:\.(\d\d[a-z]?)_\w+)?|(best))\.\w+", entry)
        if not lesson:
            return None
        place = place_of(lesson[3] or f"{lesson[1]}.{lesson[2] or '00'}")
    else:
        place = next((row.place for row in rows() if test.partition(".")[0] in row.names), None)
        if place is None:
            return None
    return f"{place.room}_all", _label(place), test


def _label(place):
    """A regular expression for CTest's labels of the place's entries. A skip of the whole chapter
    has the chapter's label."""
    if place.lesson is None or not place.room.startswith("chapter"):
        return f"^{place.room}(\\.|$)"
    return f"^{place.room[:9]}({re.escape(place.room[9:])})?$"


class Arguments:
    """The targets to build (all, if there are none), the options for ctest, and GoogleTest's filter
    or None."""

    def __init__(self, words):
        self.targets, self.options = [], []
        labels, names, left_out, filters = [], [], [], []
        words = list(words)
        while words and not words[0].startswith("-"):
            word = words.pop(0)
            if re.match(r"(mistake|stub|boss)", word):
                target, name = must_fail(word)
                self.targets.append(target)
                names.append(name)
                continue
            single = single_test(word)
            if single:
                filters.append(single[2])
            target, label = single[:2] if single else (f"{place_of(word).room}_all", _label(place_of(word)))
            self.targets.append(target)
            labels.append(label)
        if labels and names:
            raise Refused("chapters and mistakes, stubs or bosses are both given; allowed: one of them")
        if labels:
            self.options += ["-L", "|".join(labels)]
        if names:
            self.options += ["-R", f"^({'|'.join(names)})"]
        else:
            left_out.append(_ON_DEMAND)
        self.ctests_own_output = False
        self.again = False
        while words:
            word = words.pop(0)
            option, equals, _ = word.partition("=")
            if re.fullmatch(r"-j[0-9]+", word):
                self.options.append(word)
            elif word == "--again":
                self.again = True
            elif option == "--gtest_filter" and equals:
                filters.append(word.partition("=")[2])
            elif option not in _CTEST:
                raise refused("option", option, ["--gtest_filter=PATTERN", "--again", *_CTEST], ", after the chapters; the others are ctest's")
            elif _CTEST[option] and not equals:
                if not words:
                    raise Refused(f"{option} needs a value; allowed: {option} VALUE")
                value = words.pop(0)
                if option in ("-LE", "--label-exclude"):
                    left_out.append(value)  # several -LE exclude only tests that match all of them
                else:
                    self.options += [option, value]
            else:
                self.options.append(word)
            self.ctests_own_output |= option in _CTESTS_OWN_OUTPUT
        if left_out:
            self.options += ["-LE", "|".join(left_out)]
        self.filter = ":".join(filters) or None


def room_of(test):
    """chapter05 for chapter05.emulated.wkv_float4.IsRepeatable; the first part of other names."""
    return test.split(".")[0]


class Report:
    """Reads ctest's output while it runs. Prints a line after a room's last entry, and the reports
    of failing tests. `counts` is the file in which test programs write how many of their tests
    passed, failed and were skipped. An entry that is not in the file counts as one test."""

    def __init__(self, expected, counts, out=sys.stdout, progress=None):
        self._counts = counts
        self._ended_entries = collections.Counter()
        self._expected = collections.Counter(room_of(name) for name in expected)
        self._results = {room: collections.Counter() for room in self._expected}
        self._seconds = collections.Counter()
        self._out = out
        self._progress = progress or Progress()
        self._failures = 0
        self._failing = None  # the failing test's output so far
        self._room_ended = None  # a room's line, printed after its last test's output
        self._ended = False

    def line(self, text):
        match = _RESULT.match(text)
        if match:
            self._flush()
            self._test(int(match[1]), int(match[2]), match[3], match[4], float(match[5] or 0))
        elif re.match(r"^\d+% tests passed", text):
            self._flush()
            self._progress.clear()
            self._ended = True
            print("\n" + text, file=self._out)
        elif re.match(r"^ *Start +\d+: ", text):
            pass
        elif self._failing is not None and not self._ended:
            self._failing.append(text)
        elif self._ended and re.match(r"^(The following tests (did not run|FAILED)|\s*\d+ - |Errors while|Label Time|\S+ *= .*sec\*proc)", text):
            pass  # already printed
        elif self._ended and text.strip() or text.startswith(("No tests", "CMake Error")):
            print(text, file=self._out)

    def _test(self, done, of, name, result, seconds):
        kind = "passed" if result == "Passed" else "skipped" if "Skipped" in result or "Disabled" in result else "failed"
        room = room_of(name)
        results = self._results.setdefault(room, collections.Counter())
        results.update(self._of_program(name) or {kind: 1})
        self._ended_entries[room] += 1
        self._seconds[room] += seconds
        if kind == "failed":
            self._failures += 1
            self._progress.clear()
            print(f"FAILED: {name}{'' if '*Failed' in result else ' (' + result.strip('* ') + ')'}", file=self._out, flush=True)
            if self._failures <= _SHOWN_FAILURES:
                self._failing = []
        if self._ended_entries[room] == self._expected[room]:
            counts = ", ".join(f"{results[each]} {each}" for each in ("passed", "failed", "skipped") if results[each])
            as_before = 0 < results["programs"] == results["kept"]
            self._room_ended = f"{room:<12} {counts:<28} {self._seconds[room]:8.1f} s{', as before' * as_before}"
            if self._failing is None:
                self._flush()
        self._progress.show(done, of, f"test {done} of {of}" + (f", {self._failures} failed" if self._failures else ""))

    def _of_program(self, name):
        """A program's numbers of passed, failed and skipped tests, and whether it did not run
        again; None if the entry is not a test program."""
        found = re.search(rf"^{re.escape(name)} (\d+) (\d+) (\d+) ([01])$",
                          text_of(self._counts), re.MULTILINE)
        kinds = ("passed", "failed", "skipped", "kept")
        return {"programs": 1, **dict(zip(kinds, map(int, found.groups())))} if found else None

    def tests(self):
        """The number of tests."""
        return sum(results[kind] for results in self._results.values()
                   for kind in ("passed", "failed", "skipped"))

    def _flush(self):
        if self._failing:
            lines = [text for text in self._failing if text.strip()]
            for text in lines[:_SHOWN_LINES]:
                print(f"    {text}", file=self._out)
            if len(lines) > _SHOWN_LINES:
                print(f"    {len(lines) - _SHOWN_LINES} more lines: ./ladder test -R NAME --verbose shows all", file=self._out)
        self._failing = None
        if self._room_ended:
            self._progress.clear()
            print(self._room_ended, file=self._out, flush=True)
            self._room_ended = None


def known_mistakes(words, build):
    """Lists the names that a wrong result may get, for one operator, or for all together with the
    planted mistakes."""
    if len(words) > 1:
        raise Refused("--mistakes takes one operator, or none")
    if words and words[0] not in operators():
        raise refused("operator", words[0], sorted(operators()))
    build.prepare()
    build.build("known_mistakes")
    status = run_program(build.folder / "known_mistakes", *words)
    if not words:
        print("\nPlanted in the lessons. ./ladder test mistake.NAME plants one; a test must fail and print its sentence:")
        for name, path in mistakes().items():
            patch = (ROOT / path).read_text()
            print(f"    {name}\n        {header(patch, 'mistake')}\n        \"{header(patch, 'diagnosis')}\"")
    return status


def test(words, preset, caller):
    del caller
    build = Build(preset)
    if words[:1] == ["--mistakes"]:
        return known_mistakes(words[1:], build)
    arguments = Arguments(words)
    build.prepare()
    build.build(*arguments.targets)
    command = ["ctest", "--preset", preset, "-j", str(cores()), *arguments.options]
    environment = {**os.environ, **({"GTEST_FILTER": arguments.filter} if arguments.filter else {}),
                   **({"LADDER_TEST_AGAIN": "1"} if arguments.again else {})}
    if arguments.ctests_own_output:
        return 1 if subprocess.run(command, cwd=ROOT, env=environment).returncode else 0
    listed = subprocess.run([*command, "--show-only=json-v1"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        raise Failed(listed.stderr.strip() or listed.stdout.strip())
    # The hooks of a test run print here too, after the JSON.
    tests, _ = json.JSONDecoder().raw_decode(listed.stdout[listed.stdout.find("{"):])
    names = [each["name"] for each in tests["tests"]]
    report = Report(names, build.folder / "test_counts.txt")
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    for line in process.stdout:
        report.line(line.rstrip("\n"))
    status = process.wait()
    if status == 0 and report.tests() == 0:
        raise Failed(f"no test is called {arguments.filter}; ./ladder test CHAPTER lists the failing tests, build/PROGRAM --gtest_list_tests all tests")
    return 1 if status else 0  # ctest's is 8
