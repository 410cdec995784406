"""Configures and builds the folder of one preset, and shows the progress."""
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ladder_tools.place import ROOT, Failed, limits_of_the_shell, require_no_limit, text_of

_FULL_DISK = re.compile(r"No space left on device|Disk quota exceeded")
_STEP = re.compile(r"^\[ *(\d+)(?:/(\d+)|%)\]")  # ninja's [3/149], make's [ 12%]


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def say(text, stream=None):
    print(f"ladder: {text}", file=stream or sys.stdout, flush=True)


def time_left(done, of, seconds):
    """", about 40 s left", estimated from the steps `done` of `of`; "" if the estimate is poor or
    little is left."""
    left = seconds / done * (of - done) if done else 0
    return f", about {5 * round(left / 5)} s left" if done >= 5 and left >= 5 else ""


class Progress:
    """Progress, shown in place on a terminal, otherwise as a line for each tenth."""

    def __init__(self, stream=sys.stderr):
        self._stream = stream
        self._in_place = stream.isatty()
        self._tenths = 0

    def show(self, done, of, text):
        if self._in_place:
            self._stream.write(f"\r\033[K{text[:shutil.get_terminal_size().columns - 1]}")
            self._stream.flush()
        elif of >= 10 and 10 * done // of > self._tenths:
            self._tenths = 10 * done // of
            print(f"ladder: {text}", file=self._stream, flush=True)

    def clear(self):
        if self._in_place:
            self._stream.write("\r\033[K")
            self._stream.flush()


def require_writable(folder):
    error = ""
    try:
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        error = f" ({problem.strerror})"
    if error or not os.access(ROOT / folder, os.W_OK):
        advice = "" if "space" in error else f"\nladder: copy the tree to a folder of your own and run it there: cp -r {ROOT} ~/kernel-ladder"
        raise Failed(f"{folder}/ cannot be written{error}{advice}")


class Build:
    """The build folder of one preset, in which one command at a time works."""

    def __init__(self, preset):
        self.preset = preset
        self.name = "build" if preset == "default" else f"build-{preset}"
        self.folder = ROOT / self.name
        self.log = self.folder / "build.log"
        self._lock = None

    def _is_configured_for(self, target):
        """Whether ninja has the target here. ninja notices changes of CMake's files on its own."""
        return (os.path.realpath(self._cached("CMAKE_HOME_DIRECTORY")) == str(ROOT)
                and f"\nbuild {target}: " in text_of(self.folder / "build.ninja"))

    def lock(self):
        """Waits until no other ./ladder works here."""
        if self._lock:
            return
        require_writable(self.name)
        require_writable("out")
        self._lock = open(self.folder / ".lock", "a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another ./ladder is working in {self.name}; waiting until it is done")
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def prepare(self, target=None):
        """Installs what is missing and configures with the script `ladder`, unless that was done
        for the target before."""
        self.lock()
        if target and self._is_configured_for(target):
            return
        options = [] if self.preset == "default" else [f"--{self.preset}"]
        status = subprocess.run([ROOT / "ladder", "configure", *options], env={**os.environ, "LADDER_LOCKED": "1"}).returncode
        if status:
            sys.exit(status)

    def _cached(self, variable):
        found = re.search(rf"^{variable}:[A-Z]*=(.*)$", text_of(self.folder / "CMakeCache.txt"), re.MULTILINE)
        return found.group(1) if found else ""

    def has_cuda(self):
        return self._cached("LADDER_WITH_CUDA") == "ON"

    def has_hopper(self):
        return self._cached("LADDER_WITH_HOPPER") == "ON"

    def has_xray(self):
        return self._cached("LADDER_HAS_XRAY") == "ON"

    def runs_on_gpu(self):
        return self.has_cuda() and bool(ask_nvidia("name"))

    def compile(self, *targets):
        """Whether the targets (all, if none is given) could be built. self.log holds the output."""
        command = ["cmake", "--build", self.folder, "-j", str(cores())]
        if targets:
            command += ["--target", *targets]
        progress, begun = Progress(), time.monotonic()
        with open(self.log, "w") as log:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
                for line in process.stdout:
                    log.write(line)
                    step = _STEP.match(line)
                    if step:
                        done, of = int(step[1]), int(step[2] or 100)
                        what = f"{step[0]}{time_left(done, of, time.monotonic() - begun)}"
                        progress.show(done, of, what + line.rstrip()[step.end():] if sys.stderr.isatty() else what)
        progress.clear()
        if process.returncode == 0:
            return True
        text, left = text_of(self.log), shutil.disk_usage(self.folder).free // 1024
        missing = re.search("^-- missing: (.*)", text, re.MULTILINE)
        error = re.search(r"^CMake Error.*(\n*.+){0,4}", text, re.MULTILINE)
        if missing or error:  # the build tool calls CMake if its files have changed
            raise Failed(missing[1] if missing else f"cmake could not configure (whole log: {self.name}/build.log)\n{error[0]}{limits_of_the_shell()}")
        if left < 64 or _FULL_DISK.search(text):
            raise Failed(f"the disk is full ({left} KB are left for {self.name}; temporary files go to {tempfile.gettempdir()})")
        return False

    def build(self, *targets):
        """Builds, or prints the compiler's errors and ends."""
        say(f"building ({self.name})" + ("" if self.log.exists() else ", which takes some minutes the first time"))
        if self.compile(*targets):
            return
        lines = text_of(self.log).splitlines()
        shown = {shown for at, line in enumerate(lines) if re.search(r"error|Error|FAILED", line) for shown in range(at, at + 6)}
        for at in sorted(shown)[:40]:
            if at < len(lines):
                print(lines[at], file=sys.stderr)
        raise Failed(f"the build failed (whole log: {self.name}/build.log){limits_of_the_shell()}")


class Variant:
    """A stand-in for Build in a Check. It has the programs that `build` makes of the learner's
    copy, but with `text` instead of the copy. They are in a folder of their own, and the build's
    own commands compile and link them, without a new configuration."""

    def __init__(self, build, exercise, text, folder):
        self.folder, self.name, self.log = folder, os.path.relpath(folder, ROOT), folder / "build.log"
        self.mine = folder / exercise.mine  # the copy's name
        self._build, self._copy = build, ROOT / exercise.mine
        self.mine.parent.mkdir(parents=True, exist_ok=True)
        self.mine.write_text(text)
        self.has_xray, self.has_cuda = build.has_xray, lambda: False

    def _run(self, command):
        with open(self.log, "w") as log:
            return subprocess.run(command, cwd=self._build.folder, stdout=log, stderr=subprocess.STDOUT).returncode == 0

    def object_of(self, target):
        return self.folder / f"{target}.o"

    def compile(self, target):
        if (self.folder / target).exists():
            return True
        if target.endswith("_ours"):
            (self.folder / target).symlink_to(self._build.folder / target)
            return self._build.compile(target)
        source, rewritten, object_ = self.mine, self.mine.with_name(f"{self.mine.name}.cpp"), self.object_of(target)
        if self.mine.suffix == ".cu":
            if not self._run([self._build.folder / "common/emulator/emulator_rewrite", source, rewritten]):
                return False
            source = rewritten
        objects = f"CMakeFiles/{target}_objects.dir/"
        theirs = next(each for each in json.loads(text_of(self._build.folder / "compile_commands.json")) if f" -o {objects}" in each["command"])
        command = shlex.split(theirs["command"])
        before = command[command.index("-o") + 1]
        command[command.index("-o") + 1], command[command.index("-c") + 1] = object_, source
        link = text_of(self._build.folder / f"CMakeFiles/{target}.dir/link.txt") or subprocess.run(
            ["ninja", "-t", "commands", target], cwd=self._build.folder, capture_output=True, text=True).stdout.splitlines()[-1]
        link = link.replace(f" {before} ", f" {shlex.quote(str(object_))} ").replace(f" -o {target} ", f" -o {shlex.quote(str(self.folder / target))} ")
        if not self._run(command):
            return False
        # Other objects of the link may be missing. Then the build makes its own program first.
        return self._run(["sh", "-c", link]) or self._build.compile(target) and self._run(["sh", "-c", link])


def run_program(*command):
    """Its exit code. A program that a signal ends prints no reason."""
    status = subprocess.run(command, cwd=ROOT).returncode
    require_no_limit(status)
    if status < 0:
        raise Failed(f"{os.path.basename(command[0])} was ended by {signal.Signals(-status).name}, which is a bug of the program, not of its arguments")
    return status


def ask_nvidia(what):
    """The first GPU's name, driver_version, ...; "" without a GPU."""
    try:
        answer = subprocess.run(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"], capture_output=True, text=True)
    except OSError:
        return ""
    return answer.stdout.splitlines()[0].strip() if answer.returncode == 0 and answer.stdout.strip() else ""
