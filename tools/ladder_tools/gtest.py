"""Runs a GoogleTest program with a time limit and reads its JSON."""
import contextlib
import json
import math
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from ladder_tools.place import require_no_limit, text_of


# CTest's environment (cmake/AddChapter.cmake): large arrays stay allocated between tests, and
# waiting threads do not spin.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824",
                # the kernel may be a reader's, so requirements on our own cases do not apply
                "LADDER_NOT_OURS": "1"}


class Test(str):
    """A test's name, "suite.test". `case` describes its case, "B=2, T=37; reverse; bf16", or is
    ""."""
    case = ""


class Finding(str):
    """A sentence of the X-ray. `cause` is its kind and, for a race, the missing order. `in_a_warp`
    tells whether less than a block's barrier suffices. `parties` lists, for each access, its places
    "FILE:LINE", the innermost first. `without_places` is the sentence without places."""

    def __new__(cls, message, cause, in_a_warp, parties, without_places):
        finding = super().__new__(cls, message)
        finding.cause, finding.in_a_warp, finding.parties, finding.without_places = cause, in_a_warp, parties, without_places
        return finding

    @classmethod
    def of(cls, fact):
        parties = [[f"{at['file']}:{at['line']}" for at in (party, *party["called_at"])] for party in (fact["party"], fact["other"]) if party]
        return cls(fact["message"], (fact["kind"], fact["missing"]), fact["in_a_warp"], parties, fact["without_places"])

    def placed(self, place):
        """The same, with sentence and places mapped by `place`."""
        return Finding(place(self), self.cause, self.in_a_warp, [list(map(place, party)) for party in self.parties], self.without_places)


class Told(str):
    """What a program says, and the facts whose messages are in it."""

    def __new__(cls, text, facts=()):
        told = super().__new__(cls, text)
        told._facts = [fact for fact in facts if fact.get("message", "").strip() and fact["message"].strip() in text]
        return told

    def facts(self, kind):
        return [fact for fact in self._facts if fact["fact"] == kind]

    def ends(self):
        """The failed launches in which an error ended a block."""
        return [launch for launch in self.facts("failed launch") if "thread" in launch]


class Run:
    """How a program ended (`status`: its exit code, -11 after SIGSEGV), its output, its tests in
    order, {"name": "suite.test", "file": its source, "skipped": bool, "failures": [Told],
    "injects": whether it makes a call fail, "nan": whether it passes a NaN to a kernel}, and its
    facts for tools, {"fact": "wrong result", "finding", ...} (docs/xray.md). A program that crashed
    leaves no tests."""

    def __init__(self, status, timed_out, text, tests, facts=()):
        self.status, self.timed_out, self.text, self._facts = status, timed_out, text, facts
        self.tests = [{**test, "failures": [self.told(each) for each in test["failures"]]}
                      for test in tests]

    def told(self, text):
        return Told(text, self._facts)

    def facts(self, kind):
        return [fact for fact in self._facts if fact["fact"] == kind]

    def findings(self):
        """Each finding once, in order, without those in the host's library, which a kernel enters
        only by a call that the emulator refuses."""
        of_the_host = [fact for fact in self.facts("finding") if fact["kind"] == "host memory" and fact["party"]["file"].startswith("/usr/")]
        return list(dict.fromkeys(Finding.of(fact) for fact in self.facts("finding") if fact not in of_the_host))

    def is_dear(self):
        """Whether the kernel is over one of its budgets."""
        return any(fact["used"] > fact["allowed"] for fact in self.facts("budget"))

    @property
    def succeeded(self):
        return self.status == 0 and not self.timed_out

    @property
    def crashed(self):
        return not self.timed_out and self.status not in (0, 1)

    def how_it_ended(self, seconds):
        if self.timed_out:
            return f"stopped after {seconds} seconds"
        if self.status == -signal.SIGFPE:  # floating point never raises it
            return "the program crashed: an integer was divided by zero (FPE)"
        why = f"exit code {self.status}" if self.status > 0 else signal.Signals(-self.status).name[len("SIG"):]
        return f"the program crashed ({why})"

    def passed(self):
        return sum(not each["skipped"] and not each["failures"] for each in self.tests)

    def skipped(self):
        return sum(each["skipped"] for each in self.tests)

    def first_failure(self):
        """The first failing test, or None."""
        return next((each for each in self.tests if each["failures"]), None)

    def last_begun(self):
        """(the test that ran last, its output), for a program that was stopped before it wrote its
        JSON."""
        name, lines = "", []
        for line in self.text.splitlines():
            begun = re.match(r"\[ RUN +\] (\S+)", line)
            if begun:
                name, lines = begun[1], []
            else:
                lines.append(line)
        return name, lines


def _tests(path):
    try:
        report = json.loads(path.read_text(errors="replace"))
    except (OSError, ValueError):
        return []
    def test(suite, each):
        name = Test(f"{suite['name']}.{each['name']}")
        name.case = each.get("value_param", "")
        return name

    return [{"name": test(suite, each), "file": Path(each.get("file", "")).name, "skipped": each.get("result") == "SKIPPED", "injects": "injects_a_failure" in each,
             "nan": "an_input_is_nan" in each,
             "failures": [failure["failure"] for failure in each.get("failures", [])]}
            for suite in report["testsuites"] for each in suite["testsuite"]]


def _facts(path):
    """One fact per line. A crash may cut the last line off."""
    facts = []
    for line in text_of(path).splitlines():
        with contextlib.suppress(ValueError):
            facts.append(json.loads(line))
    return facts


def _seconds_used(process):
    """The processor time of a process and its children; infinite if the system does not tell."""
    try:
        with open(f"/proc/{process}/stat") as stat, open(f"/proc/{process}/task/{process}/children") as children:
            used = sum(map(int, stat.read().rpartition(")")[2].split()[11:15])) / os.sysconf("SC_CLK_TCK")
            return used + sum(map(_seconds_used, children.read().split()))
    except OSError:
        return math.inf


_MOST_WAITED = 10  # times the limit, for a machine that is busy


def run(program, seconds, *options, test_filter=None, environment=None):
    """`seconds` limits processor time, or wall time if the program runs alone or waits."""
    with tempfile.TemporaryDirectory() as folder:
        report, facts = Path(folder) / "report.json", Path(folder) / "facts.json"
        command = [program, f"--gtest_output=json:{report}", "--gtest_color=no", *options]
        if test_filter:
            command.append(f"--gtest_filter={test_filter}")
        # The search for a name must leave time to report the wrong result.
        diagnosis = {"LADDER_DIAGNOSIS_SECONDS": str(max(1, min(20, seconds * 2 // 3)))}
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**_ENVIRONMENT, **diagnosis, "LADDER_FACTS": str(facts),
                                        "EMULATOR_FACTS": str(facts), **os.environ,
                                        **(environment or {})})
        output, timed_out, wait, used, end = None, False, seconds, 0, time.monotonic() + _MOST_WAITED * seconds
        while output is None:
            try:
                output, _ = process.communicate(timeout=wait)
            except subprocess.TimeoutExpired:
                before, used = used, _seconds_used(process.pid)
                timed_out = used >= seconds or used - before < wait / 100 or time.monotonic() >= end
                wait = max(1, min(seconds - used, end - time.monotonic()))
            if timed_out:
                process.kill()
                output, _ = process.communicate()
        require_no_limit(process.returncode)
        return Run(process.returncode, timed_out, output.decode(errors="replace"), _tests(report), _facts(facts))


def nans(text, program, source):
    """Yields where NaNs arise in `source` (a path from ROOT), from the output with
    LADDER_TRACE_NAN, in order: the line 41, the thread " in block (0, 0, 0), thread (3, 0, 0)", and
    a key that is the same in a copy of the file, made of the line's text and the lines of the
    functions that it calls."""
    code = text_of(source).splitlines()
    for nan in (json.loads(line) for line in text.splitlines() if line.startswith('{"fact":"nan"')):
        lines = subprocess.run(["addr2line", "-i", "-e", program, *nan["addresses"]],
                               capture_output=True, text=True).stdout
        called = []
        for file, line in re.findall(r"^(.*):([0-9]+)", lines, re.MULTILINE):
            # A line may carry the name of the emulator's copy: build/emulated/my/x.cu.cpp.
            if file.removesuffix(".cpp").endswith(f"/{source}") or file.endswith(f"/{source}"):
                yield int(line), nan["where"], (*called, code[int(line) - 1].strip())
                break
            called.append(f"{Path(file).name}:{line}")


def names_of(program, without="\n"):
    """The names of the program's tests, except those in files whose name ends with `without`; none
    if the program cannot list them."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run([program, "--gtest_list_tests", f"--gtest_output=json:{report}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [each["name"] for each in _tests(report) if not each["file"].endswith(without)]
