"""Runs a GoogleTest program with a time limit, and reads the JSON it writes."""
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


# As CTest has it (cmake/AddChapter.cmake): large arrays are not given back between tests, and threads that wait do not spin.
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824",
                "LADDER_NOT_OURS": "1"}  # the kernel may be a reader's: what is asked of our cases is not asked of it


class Test(str):
    """A test's name, "suite.test". `case`: what it is about, "B=2, T=37; reverse; bf16"; "" where it does not say."""
    case = ""


class Finding(str):
    """A sentence of the X-ray. `cause`: its kind, and of a race what would have ordered the two; `in_a_warp`: whether less is enough for
    these two; `parties`: of each the places "FILE:LINE" at which it touches memory, the innermost first; `without_places`: the sentence
    without these."""

    def __new__(cls, message, cause, in_a_warp, parties, without_places):
        finding = super().__new__(cls, message)
        finding.cause, finding.in_a_warp, finding.parties, finding.without_places = cause, in_a_warp, parties, without_places
        return finding

    @classmethod
    def of(cls, fact):
        parties = [[f"{at['file']}:{at['line']}" for at in (party, *party["called_at"])] for party in (fact["party"], fact["other"]) if party]
        return cls(fact["message"], (fact["kind"], fact["missing"]), fact["in_a_warp"], parties, fact["without_places"])

    def placed(self, place):
        """As `place` has sentences and places."""
        return Finding(place(self), self.cause, self.in_a_warp, [list(map(place, party)) for party in self.parties], self.without_places)


class Run:
    """How a program ended (`status`: its exit code, -11 after SIGSEGV), what it printed, its tests in order:
    {"name": "suite.test", "file": its source, "skipped": bool, "failures": [text], "injects": whether it makes a call fail}, and what it
    says for tools, {"fact": "finding", "budget" or "counters", ...} (docs/xray.md). A program that crashed leaves no tests."""

    def __init__(self, status, timed_out, text, tests, facts=()):
        self.status, self.timed_out, self.text, self.tests, self._facts = status, timed_out, text, tests, facts

    def facts(self, kind):
        return [fact for fact in self._facts if fact["fact"] == kind]

    def findings(self):
        """Each once, in their order."""
        return list(dict.fromkeys(map(Finding.of, self.facts("finding"))))

    def is_dear(self):
        """Whether more than one of the budgets is used."""
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
        if self.status == -signal.SIGFPE:  # which numbers with a point never raise
            return "the program crashed: an integer was divided by zero (FPE)"
        why = f"exit code {self.status}" if self.status > 0 else signal.Signals(-self.status).name[len("SIG"):]
        return f"the program crashed ({why})"

    def passed(self):
        return sum(not each["skipped"] and not each["failures"] for each in self.tests)

    def skipped(self):
        return sum(each["skipped"] for each in self.tests)

    def first_failure(self):
        """The first test that failed, else None."""
        return next((each for each in self.tests if each["failures"]), None)

    def last_begun(self):
        """(the test that ran last, what it printed): of a program that was stopped, whose JSON was never written."""
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
             "failures": [failure["failure"] for failure in each.get("failures", [])]}
            for suite in report["testsuites"] for each in suite["testsuite"]]


def _facts(path):
    """A line each; the last may be cut off by a crash."""
    facts = []
    for line in text_of(path).splitlines():
        with contextlib.suppress(ValueError):
            facts.append(json.loads(line))
    return facts


def _seconds_used(process):
    """What it and those that it has started have had of the processors; infinite where the system does not say."""
    try:
        with open(f"/proc/{process}/stat") as stat, open(f"/proc/{process}/task/{process}/children") as children:
            used = sum(map(int, stat.read().rpartition(")")[2].split()[11:15])) / os.sysconf("SC_CLK_TCK")
            return used + sum(map(_seconds_used, children.read().split()))
    except OSError:
        return math.inf


_MOST_WAITED = 10  # so many times its seconds, where others are at work on this machine


def run(program, seconds, *options, test_filter=None, environment=None):
    """`seconds`: of a processor, or of the clock where it has one to itself, or waits."""
    with tempfile.TemporaryDirectory() as folder:
        report, facts = Path(folder) / "report.json", Path(folder) / "facts.json"
        command = [program, f"--gtest_output=json:{report}", "--gtest_color=no", *options]
        if test_filter:
            command.append(f"--gtest_filter={test_filter}")
        # Looking for a name must not take what is left for saying that the result is wrong.
        diagnosis = {"LADDER_DIAGNOSIS_SECONDS": str(max(1, min(20, seconds * 2 // 3)))}
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**_ENVIRONMENT, **diagnosis, "LADDER_FACTS": str(facts), **os.environ, **(environment or {})})
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
    """Where in `source` (a path from ROOT) NaNs of numbers arise, in what the program printed with LADDER_TRACE_NAN in its environment, the
    first one first: 41, " in block (0, 0, 0), thread (3, 0, 0)", and what is made there, which is the same in a copy of the file: the
    line's text, and the lines of functions that it calls."""
    code = text_of(source).splitlines()
    for addresses, who in re.findall(r"^nan:((?: 0x[0-9a-f]+)+)(.*)$", text, re.MULTILINE):
        lines = subprocess.run(["addr2line", "-i", "-e", program, *addresses.split()], capture_output=True, text=True).stdout
        called = []
        for file, line in re.findall(r"^(.*):([0-9]+)", lines, re.MULTILINE):
            # A line of CUDA may have the name of its copy for the emulator: build/emulated/my/x.cu.cpp.
            if file.removesuffix(".cpp").endswith(f"/{source}") or file.endswith(f"/{source}"):
                yield int(line), who, (*called, code[int(line) - 1].strip())
                break
            called.append(f"{Path(file).name}:{line}")


def names_of(program, without="\n"):
    """The names of the program's tests but those in files whose name ends with `without`; none if it cannot say."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run([program, "--gtest_list_tests", f"--gtest_output=json:{report}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [each["name"] for each in _tests(report) if not each["file"].endswith(without)]
