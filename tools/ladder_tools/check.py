"""./ladder check FILE.cu...: compiles a CUDA program of the reader's own, runs it under the X-ray
without a GPU, and says what is wrong, with file and line."""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ladder_tools.building import Build, cores, say
from ladder_tools.place import ROOT, Refused, text_of

_HERE = ROOT / "common" / "check" / "include"
_EMULATOR = ROOT / "common" / "emulator" / "include"
_CUDA, _HOST, _C = (".cu",), (".cpp", ".cc", ".cxx"), (".c",)
_WITH_VALUE = ("-I", "-D", "-U", "-include")
_SKIPPED = re.compile(r"-(arch|gencode|O\d|g|G|lineinfo|rdc|w|W.*|m64|use_fast_math|x|Xcompiler|Xptxas|maxrregcount|-expt-.*|-extended-lambda)(=.*)?$")
_TAKES_NEXT = ("-arch", "-gencode", "-x", "-Xcompiler", "-Xptxas", "-maxrregcount")
_OPTIONS = ("--schedules", "--limit", "--seconds", "--json")

_SECONDS_TO_REPORT = 5  # after the program was told to end

# What the exit code says.
CLEAN, FOUND, WRONG_USE, MISSING, REFUSED, INCOMPLETE, FAILED = range(7)

_ENDS_A_LAUNCH = ("out of bounds", "use after free", "host memory", "misaligned access")
_ORDERS_BLOCKS = re.compile(r"\b(__threadfence\w*|atomic[A-Z]\w*|volatile)\b|cuda::atomic")

# {the X-ray's kind: the class in brackets}
_CLASSES = {"race": "race", "out of bounds": "out-of-bounds", "use after free": "use-after-free",
            "host memory": "host-memory", "uninitialised read": "uninitialised",
            "misaligned access": "misaligned", "divergent barrier": "divergent-barrier"}


class Asked:
    """The words of one call."""

    def __init__(self, words, caller):
        self.files, self.options, self.folders, self.arguments = [], ["-std=gnu++20"], [], []
        self.schedules, self.limit, self.seconds, self.json = 2, 10, 60, None
        words = list(words)
        if "--" in words:
            end = words.index("--")
            words, self.arguments = words[:end], words[end + 1:]
        while words:
            self._take(words.pop(0), words, Path(caller))
        if not self.files:
            raise Refused("check needs a file; allowed: ./ladder check FILE.cu [FILE...] [-I DIR] "
                          "[-D NAME=VALUE] [options] [-- the program's arguments]")

    def _take(self, word, words, caller):
        option, equals, value = word.partition("=")
        if option in _OPTIONS:
            if not equals:
                if not words:
                    raise Refused(f"{option} needs a value; allowed: {option} VALUE")
                value = words.pop(0)
            name = option.lstrip("-")
            if name == "json":
                self.json = caller / value
            elif not re.fullmatch("[1-9][0-9]{0,5}", value):
                raise Refused(f"{option} is '{value}'; allowed: a whole number from 1")
            else:
                setattr(self, name, int(value))
            return
        for prefix in _WITH_VALUE:
            if word == prefix or word.startswith(prefix) and not prefix == "-include":
                value = word.removeprefix(prefix) or (words.pop(0) if words else "")
                if not value:
                    raise Refused(f"{prefix} needs a value; allowed: {prefix} VALUE")
                if prefix == "-I":
                    self.folders.append((caller / value).resolve())
                elif prefix == "-include":
                    self.options += ["-include", value]
                else:
                    self.options.append(prefix + value)
                return
        if word.startswith("-std="):
            self.options[0] = "-std=gnu++20"  # the emulator's headers need C++20
        elif word.startswith("-l"):
            raise Refused(f"{word} asks for a library; allowed: programs that need none but the CUDA runtime")
        elif _SKIPPED.match(word):
            say(f"{word} is skipped: it is for nvcc", sys.stderr)
            if word in _TAKES_NEXT and words:
                words.pop(0)
        elif word.startswith("-"):
            raise Refused(f"option is '{word}'; allowed: {' '.join(_OPTIONS)} {' '.join(_WITH_VALUE)} and nvcc's -std, -arch, -O3, -lineinfo, -rdc")
        else:
            file = (caller / word).resolve()
            if file.suffix not in _CUDA + _HOST + _C:
                raise Refused(f"file is '{word}'; allowed: {' '.join(_CUDA + _HOST + _C)}")
            if not file.is_file():
                raise Refused(f"file is '{word}'; allowed: one that exists")
            self.files.append(file)


class Program:
    """The program in a folder of its own: its files rewritten for the emulator, compiled, linked."""

    def __init__(self, asked, build, folder):
        self._asked, self._build, self._folder = asked, build, folder
        self.path = folder / "program"

    def make(self):
        """Returns the compiler's errors, or ""."""
        for file in self._asked.files:
            if file.suffix in _CUDA:
                self._rewrite(file, set())
        running, objects, errors = [], [], ""
        for number, file in enumerate(self._asked.files):
            objects.append(self._folder / f"{number}.o")
            running.append((file, subprocess.Popen(self._compiles(file, objects[-1]), text=True, stderr=subprocess.PIPE)))
            if len(running) == cores():
                errors += self._ended(*running.pop(0))
        for file, process in running:
            errors += self._ended(file, process)
        if errors:
            return errors
        libraries = self._lines("check_libraries.txt")
        linked = subprocess.run(["g++", "-o", self.path, *objects, *libraries, "-fopenmp", "-lpthread", "-ldl", "-lm"], text=True, stderr=subprocess.PIPE)
        return linked.stderr if linked.returncode else ""

    def _lines(self, name):
        return (self._build.folder / "common" / "check" / name).read_text().split()

    def _ended(self, file, process):
        _, said = process.communicate()
        return said if process.returncode else ""

    def _place_of(self, file):
        return self._folder / "tree" / file.relative_to("/")

    def _rewrite(self, file, done):
        """Rewrites a CUDA file and the local headers that it includes, each beside the others as in
        the user's tree."""
        if file in done:
            return
        done.add(file)
        place = self._place_of(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        out = place if file.suffix not in _CUDA or len(done) > 1 else place.with_name(place.name + ".cpp")
        rewritten = subprocess.run([self._build.folder / "common/emulator/emulator_rewrite", file, out], text=True, stderr=subprocess.PIPE)
        if rewritten.returncode:
            raise Unreadable(rewritten.stderr.strip())
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', file.read_text(errors="replace"), re.MULTILINE):
            for folder in (file.parent, *self._asked.folders):
                header = (folder / name).resolve()
                if header.is_file() and ROOT / "common" not in header.parents:
                    self._rewrite(header, done)
                    break

    def _compiles(self, file, to):
        folders = [file.parent, *self._asked.folders]
        if file.suffix in _C:
            included = [word for folder in self._asked.folders for word in ("-I", folder)]
            options = [option for option in self._asked.options[1:]]
            return ["gcc", "-w", "-g", "-fopenmp", "-I", _HERE, "-I", _EMULATOR, *included, *options, "-c", file, "-o", to]
        included = [word for folder in folders for word in ("-I", self._place_of(folder), "-I", folder)]
        included += ["-I", _HERE, "-I", _EMULATOR]
        command = ["g++", "-w", "-fopenmp", "-fmax-errors=10", *self._asked.options, *included]
        if file.suffix in _CUDA:
            place = self._place_of(file)
            return [*command, "-include", _HERE / "prelude.hpp", "-DEMULATOR_XRAY", *self._lines("check_options.txt"), "-c", place.with_name(place.name + ".cpp"), "-o", to]
        return [*command, "-O1", "-g", "-c", file, "-o", to]


class Unreadable(Exception):
    """The rewriter's sentence about a file of the user's."""


def _count(number, what):
    return f"{number} {what}" + ("" if number == 1 else "es" if what.endswith("ch") else "s")


def _schedules(count):
    return ["forward", "reverse", *map(str, range(1, count))][:count]


def _run(program, asked, schedule, caller, facts, show):
    """One run: its facts, and how it ended."""
    environment = {**os.environ, "EMULATOR_CHECK": str(facts), "EMULATOR_SCHEDULE": schedule}
    quiet = None if show else subprocess.DEVNULL
    facts.unlink(missing_ok=True)
    late = False
    with subprocess.Popen([program, *asked.arguments], cwd=caller, env=environment, stdout=quiet, stderr=quiet) as process:
        for end, seconds in ((process.terminate, asked.seconds), (process.kill, _SECONDS_TO_REPORT), (None, None)):
            try:
                process.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                late = True
                end()
    return [json.loads(line) for line in facts.read_text().splitlines()] if facts.exists() else [], late


def _shown(file, caller):
    path = (ROOT / file) if not os.path.isabs(file) else Path(file)
    try:
        return str(path.relative_to(caller))
    except ValueError:
        return str(path)


def _text_of(file):
    return text_of(ROOT / file)


def _line_of(file, line):
    return "".join(_text_of(file).split("\n")[line - 1:line]).strip()


class Findings:
    """What all runs have found, each pair of lines once."""

    def __init__(self, caller):
        self._caller, self._kept = caller, {}
        self.kernels, self.launches, self.cut_short = set(), 0, False
        self.ended_early = False  # so what later launches read may be unwritten

    def add(self, facts, schedule):
        kernel = None
        for fact in facts:
            if fact["fact"] == "kernel":
                kernel = fact
                self.kernels.add(fact["name"])
                self.launches += fact["launches"]
                self.cut_short |= fact["cut_short"]
            elif fact["fact"] == "finding":
                self.ended_early |= fact["kind"] in _ENDS_A_LAUNCH
                other = fact["other"] or {}
                key = (fact["kind"], fact["party"]["file"], fact["party"]["line"], other.get("file"), other.get("line"), fact["buffer"])
                # A race is one finding, whichever party came first.
                turned = (fact["kind"], other.get("file"), other.get("line"), *key[1:3], fact["buffer"])
                kept = self._kept.setdefault(turned if turned in self._kept else key, (fact, kernel, []))
                kept[2].append(schedule)

    def _is_note(self, fact, kernel):
        """Blocks may be ordered by atomics, fences and flags, which the X-ray does not follow."""
        party, other = fact["party"], fact["other"]
        if fact["kind"] != "race" or not other or other["block"] == party["block"]:
            return False
        return kernel["atomics"] or any(_ORDERS_BLOCKS.search(_text_of(each["file"])) for each in (party, other))

    def sorted(self):
        kept = [each for each in self._kept.values() if not (self.ended_early and each[0]["kind"] == "uninitialised read")]
        found = [(fact, kernel, names, self._is_note(fact, kernel)) for fact, kernel, names in kept]
        return sorted(found, key=lambda each: (each[0]["party"]["file"], each[0]["party"]["line"], each[0]["kind"]))

    def text_of(self, fact, kernel, names, is_note, of):
        party, other = fact["party"], fact["other"]
        where = f"{_shown(party['file'], self._caller)}:{party['line']}"
        kind = _CLASSES.get(fact["kind"], fact["kind"].replace(" ", "-"))
        lines = [f"{where}: {'note' if is_note else 'error'}: {fact['without_places']} [{kind}]"]
        code = _line_of(party["file"], party["line"])
        if code:
            lines.append(f"{party['line']:5} | {code}")
        if other and (other["file"], other["line"]) != (party["file"], party["line"]):
            lines.append(f"{other['line']:5} | {_line_of(other['file'], other['line'])}")
        if is_note:
            lines.append("  atomics, fences or flags may order the blocks of this kernel; that order is not followed yet")
        size = [",".join(map(str, kernel[each])) for each in ("grid", "block")]
        seen = "every schedule" if len(set(names)) == of else " and ".join(sorted(set(names))) + " only"
        lines.append(f"  kernel {kernel['name']}<<<({size[0]}), ({size[1]})>>>, {_count(kernel['launches'], 'launch')}; {seen}")
        return "\n".join(lines)


def check(words, preset, caller):
    asked = Asked(words, caller)
    if preset != "default":
        raise Refused("check has no presets; allowed: ./ladder check FILE.cu")
    build = Build(preset)
    with contextlib.redirect_stdout(sys.stderr):  # stdout is the program's
        build.prepare("check_program")
        if not build.has_xray():
            print("ladder: check needs g++ 12 or newer with its thread sanitizer")
            return MISSING
        build.build("check_program")
    caller = Path(caller)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(asked, build, Path(folder))
        try:
            errors = program.make()
        except Unreadable as refusal:
            print(f"{refusal}\ncheck: refused before it was compiled", file=sys.stderr)
            return REFUSED
        if errors:
            print(errors.rstrip().replace(str(Path(folder) / "tree"), "") + "\ncheck: it does not compile here", file=sys.stderr)
            return REFUSED
        findings, ends, late = Findings(caller), [], False
        schedules = _schedules(asked.schedules)
        for schedule in schedules:
            facts, is_late = _run(program.path, asked, schedule, caller, Path(folder) / "facts", schedule == schedules[0])
            findings.add(facts, schedule)
            ends += [fact for fact in facts if fact["fact"] == "end"][:1]
            late |= is_late
    return _report(asked, findings, ends, late, schedules)


def _report(asked, findings, ends, late, schedules):
    found = findings.sorted()
    errors = [each for each in found if not each[3]]
    sys.stdout.flush()
    for each in found[:asked.limit]:
        print(findings.text_of(*each, len(schedules)), end="\n\n", file=sys.stderr)
    if len(found) > asked.limit:
        print(f"check: {len(found) - asked.limit} more; --limit {len(found)} shows them", file=sys.stderr)
    if asked.json:
        asked.json.write_text(json.dumps([{**fact, "kernel": kernel["name"], "note": is_note} for fact, kernel, _, is_note in found], indent=1) + "\n")
    counted = (f"{_count(len(findings.kernels), 'kernel')}, {_count(findings.launches, 'launch')}, "
               f"{_count(len(schedules), 'schedule')} ({', '.join(schedules)})")
    failed = None if late else next((end for end in ends if end["by"] == "signal" or end["status"]), None)
    what = f"{_count(len(errors), 'error')}, {_count(len(found) - len(errors), 'note')}" if found else "nothing found"
    print(f"check: {what} in {counted}", file=sys.stderr)
    if late:
        print(f"check: not all was looked at: the program ran longer than {asked.seconds} seconds; --seconds N allows more", file=sys.stderr)
    if findings.cut_short:
        print("check: not all was looked at: a launch was stopped at the limit of accesses; use smaller sizes", file=sys.stderr)
    if findings.ended_early:
        print("check: a launch ended at its first stray access, so unwritten memory is not reported", file=sys.stderr)
    if failed:
        print(f"check: the program ended with {failed['by']} {failed['status']}", file=sys.stderr)
    if not findings.kernels and not late:
        print("check: no kernel was launched", file=sys.stderr)
    if errors:
        return FOUND
    if late or findings.cut_short:
        return INCOMPLETE
    return FAILED if failed else CLEAN if findings.kernels else INCOMPLETE
