"""usage: run_tests NAME PROGRAM [GTEST_OPTION...]

One CTest entry: runs all tests of a GoogleTest program in one process. A test that ends the process
or takes too long has failed, and the tests after it run in a new process. Prints what failing tests
reported, each under NAME.SUITE.TEST, and how many passed. LADDER_TEST_COUNTS names a file to which
the counts are appended; GTEST_FILTER selects tests. A program whose tests have all passed does not
run again until it or its environment changes. LADDER_TEST_AGAIN=1 runs it anyway, and tests on a
GPU always run."""
import collections
import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ladder_tools.place import text_of, write_whole

_BEGUN = re.compile(r"\[ RUN      \] (\S+)$")
_ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+).* \(\d+ ms\)$")
_SECONDS = 1500  # limit of one test
_NOTICED = re.compile("LADDER_|EMULATOR_|GTEST_|OMP_")
_NOT_NOTICED = {"LADDER_SKIP_LOG", "LADDER_TEST_COUNTS", "LADDER_TEST_AGAIN"}


class Process:
    """A program's run. `ended`: {test: "OK", "FAILED" or "SKIPPED"}; `died`: the test that ended it
    early, and how."""

    def __init__(self, command, say, seconds=_SECONDS):
        self.ended, self.died = {}, None
        self._say, self._running, self._lines = say, None, []
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        how, rest, end = None, b"", time.monotonic() + seconds
        while how is None:
            readable, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
            if not readable:
                process.kill()
                how = f"stopped after {seconds} seconds"
                break
            read = os.read(process.stdout.fileno(), 1 << 16)
            if not read:
                break
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                if self._line(line.decode(errors="replace")):
                    end = time.monotonic() + seconds
        self.status = process.wait()
        process.stdout.close()
        if how and not self._running:  # it hangs before its first test or after its last
            self._running, self._lines = "(no test)", []
        if self._running:
            if how is None:
                how = f"ended with {self.status}" if self.status >= 0 else f"crashed: {signal.Signals(-self.status).name}"
            self.died = self._running, how
            self._fail(f"the program was {how}" if how.startswith("stopped") else f"the program {how}")

    def _line(self, text):
        """Whether a test begins or ends on this line."""
        begun, ended = _BEGUN.match(text), _ENDED.match(text)
        if begun:
            self._running, self._lines = begun[1], []
        elif ended and ended[2] == self._running:
            if ended[1] == "FAILED":
                self._fail()
            else:
                self.ended[self._running] = ended[1]
            self._running = None
        else:
            self._lines.append(text)
        return bool(begun or ended)

    def _fail(self, *more):
        self.ended[self._running] = "FAILED"
        self._say(self._running, [*self._lines, *more])


def run(name, command, chosen=None, out=None):
    """A Counter of "OK", "FAILED" and "SKIPPED", and whether the last process ended with the exit
    code that these results imply."""
    def say(test, lines):
        print(f"FAILED: {name}.{test}", *lines, sep="\n", file=out, flush=True)

    ended, chosen = {}, chosen or "*"
    while True:
        with tempfile.NamedTemporaryFile("w", suffix=".flags") as flags:
            # A file, because a crash may follow more names than a command line can hold.
            behind = (":" if "-" in chosen else "-") + ":".join(ended) if ended else ""
            flags.write(f"--gtest_filter={chosen}{behind}\n--gtest_color=no\n")
            flags.flush()
            process = Process([*command, f"--gtest_flagfile={flags.name}"], say)
        ended.update(process.ended)
        if process.died is None:
            break
    counts = collections.Counter(ended.values())
    as_expected = process.status == (1 if "FAILED" in process.ended.values() else 0)
    if not as_expected:
        print(f"FAILED: {name}: the program ended with {process.status}", file=out)
    return counts, as_expected


def key_of(program):
    """A hash of everything that decides the program's results: its bytes, the libraries that it
    loads, this machine's cores, and the variables that it may read."""
    hashed = hashlib.blake2b(Path(program).read_bytes())
    for name in sorted(os.environ):
        if _NOTICED.match(name) and name not in _NOT_NOTICED:
            hashed.update(f"{name}={os.environ[name]}\n".encode())
    for library in libraries_of(program):
        file = os.stat(library)
        hashed.update(f"{library} {file.st_size} {file.st_mtime_ns}\n".encode())
    hashed.update(str(os.cpu_count()).encode())
    return hashed.hexdigest()


def libraries_of(program):
    """The files that the loader finds for it; none for a script."""
    if shutil.which("ldd") is None:
        return []
    said = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return re.findall(r" => (/\S+) ", said)


class Passed:
    """The results of a program whose tests all passed, in PROGRAM.passed; True if they belong to
    the program with this key. `counts` are of its tests, `skips` its messages about skipped
    ones."""

    def __init__(self, program, key):
        self._path, self._key = Path(f"{program}.passed"), key
        kept = json.loads(text_of(self._path) or "{}")
        self._holds = kept.get("key") == key
        self.counts, self.skips = collections.Counter(kept.get("counts")), kept.get("skips", "")

    def __bool__(self):
        return self._holds

    def keep(self, counts, skips):
        write_whole(self._path, json.dumps({"key": self._key, "counts": counts, "skips": skips}))


def run_with_skips(name, command, chosen):
    """The same as `run`, and what the program wrote into LADDER_SKIP_LOG."""
    with tempfile.NamedTemporaryFile("r", suffix=".skips") as skips:
        os.environ["LADDER_SKIP_LOG"] = skips.name
        counts, as_expected = run(name, command, chosen)
        return counts, as_expected, skips.read()


def append(file, text):
    if file and text:
        with open(file, "a") as whole:
            whole.write(text)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    name, *command = sys.argv[1:]
    if not os.access(command[0], os.X_OK):
        sys.exit(f"{name}: {command[0]} is not built; ./ladder test builds what it runs")
    chosen = os.environ.pop("GTEST_FILTER", None)
    log = os.environ.get("LADDER_SKIP_LOG")
    whole = not chosen and len(command) == 1 and "cuda" not in name.split(".")
    before = Passed(command[0], key_of(command[0])) if whole else None
    kept = before and not os.environ.get("LADDER_TEST_AGAIN")
    if kept:
        counts, as_expected, skips = before.counts, True, before.skips
    else:
        counts, as_expected, skips = run_with_skips(name, command, chosen)
        if whole and as_expected and not counts["FAILED"]:
            before.keep(counts, skips)
    append(log, skips)
    print(f"{name}: {counts['OK']} passed, {counts['FAILED']} failed, {counts['SKIPPED']} skipped"
          + " (as before, because the program is the same)" * bool(kept))
    append(os.environ.get("LADDER_TEST_COUNTS"),
           f"{name} {counts['OK']} {counts['FAILED']} {counts['SKIPPED']} {int(bool(kept))}\n")
    return 0 if as_expected and not counts["FAILED"] else 1
