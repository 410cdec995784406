"""./ladder run, ./ladder xray and ./ladder apply: build the program and start it."""
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ladder_tools.building import Build, ask_nvidia, run_program, say
from ladder_tools.drawing import check_and_draw, copy_at, page_of
from ladder_tools.place import ROOT, Failed, Refused, exercise_of, place_of, refused, registered_names, text_of, write_whole
from ladder_tools.recordings import play
from ladder_tools.rows import lessons_for, lessons_of_story, members_of_cases, operators, rows, story

# run_help.txt is the program's --help, kept so that help needs no build
_HELP = ROOT / "common" / "program"

_LARGEST = 2**31  # from common/program/command_line.cpp


def options_of(command):
    """{--option: whether it takes a value}, from the program's kept help."""
    lines = (_HELP / f"{command}_help.txt").read_text().splitlines()
    found = (re.match(r" +(?:-\w,)?(--[\w-]+) +(TEXT|FLOAT|INT|UINT)?", line) for line in lines)
    return {match[1]: bool(match[2]) for match in found if match}


def named_shapes():
    """{name of a shape for --shape: {size: number}}"""
    lines = re.findall(r"^  (\S+) +(B=.*)", (_HELP / "run_help.txt").read_text(), re.MULTILINE)
    return {name: {size: int(number) for size, number in re.findall(r"(\w+)=(\d+)", sizes)} for name, sizes in lines}


def require_known(given):
    """Checks the values of options, {option: values}, against the sources. The program checks them
    too, but it is not built yet."""
    text = (_HELP / "run_help.txt").read_text()
    shapes = named_shapes()
    known_of = {"--operator": operators, "--implementation": lambda: {name for row in rows() for name in row.names},
                "--precision": lambda: dict.fromkeys(re.findall(r"\b(?:bf|fp)[0-9]\w*", text)),
                "--shape": lambda: [*sorted(members_of_cases()[0]), *shapes], "--options": lambda: sorted(members_of_cases()[1])}
    for option, known in ((option, known_of[option]()) for option in given if option in known_of):
        for value in given[option]:
            listed = option in ("--shape", "--options") and value not in shapes
            for name, equals, size in (item.partition("=") for item in (value.split(",") if listed else [value])):
                if name not in known or equals and name in shapes:
                    raise refused(option, name, known)
                # a capital letter is an array's axis; other sizes may be 0, such as a padding
                least = 0 if name.islower() else 1
                if listed and option == "--shape" and not (re.fullmatch("[0-9]{1,10}", size) and least <= int(size) <= _LARGEST):
                    raise Refused(f"{option}: {name} is '{size}'; allowed: a whole number from {least} to {_LARGEST}")
    for value in given.get("--patience", []):
        if not re.fullmatch(r"[0-9]*\.?[0-9]+|[0-9]+\.", value):
            raise Refused(f"--patience is '{value}'; allowed: seconds")


def ask_for_program(arguments, folder):
    """The prefix of the programs in the build folder that can do this: "ladder", which has
    everything, or one with only these lessons. CMake reads the list of the latest ones, so
    configure after this."""
    lessons = None if "--operators" in arguments.words else lessons_for(arguments.asked, arguments.operator, arguments.names,
                                                                         arguments.variants, arguments.alone)
    return "ladder" if lessons is None else program_of(lessons, folder)


def program_of(lessons, folder):
    """The prefix of the program with these lessons."""
    prefix = f"ladder_{hashlib.sha256(' '.join(lessons).encode()).hexdigest()[:8]}"
    kept = folder / "asked_programs.txt"
    others = [line for line in text_of(kept).splitlines() if not line.startswith(f"{prefix} ")]
    write_whole(kept, "".join(f"{line}\n" for line in [*others[-15:], " ".join([prefix, *lessons])]))
    return prefix


_REPEATED = {"run": ("--implementation", "--condition", "--shape")}
_FOLDERS = ("--in", "--out", "--example")  # options of apply


class Arguments:
    """A program's arguments.
    words   to pass on: chapters and lessons by their folder's name, options without output paths
    paths   the output files
    places  chapters and lessons as they were typed; `asked`: the same as Place
    The rest selects the program."""

    def __init__(self, command, words, caller):
        self.words, self.places, self.asked = [], [], []
        self.copy = None  # the learner's copy in my/, which is then drawn alone
        given = {}  # {option or copy: its values}
        self.paths = {} if command == "apply" else {"--json": ROOT / "out" / f"{command}.json", "--html": ROOT / "out" / f"{command}.html"}
        self.given = given
        known = options_of(command)
        words = list(words)
        while words:
            word = words.pop(0)
            if not word.startswith("-"):
                copy = copy_at(word) if command == "xray" else None
                if copy:
                    self.copy = copy
                    given[copy.mine] = []
                    continue
                place = place_of(word)
                self.places.append(word)
                self.asked.append(place)
                self.words.append(place.word)
                continue
            option, equals, value = word.partition("=")
            values = given.setdefault(option, [])
            if option not in known:
                raise refused("option", option, known)
            if not known[option]:
                if equals:
                    raise Refused(f"{option} is followed by '={value}'; allowed: {option} alone")
                self.words.append(option)
                continue
            if not equals:
                if not words:
                    raise Refused(f"{option} needs a value; allowed: {option} VALUE")
                value = words.pop(0)
                if value.startswith("-"):
                    raise Refused(f"{option} is followed by '{value}'; allowed: a value")
            if values and option not in _REPEATED.get(command, ("--implementation", "--condition")):
                raise Refused(f"{option} is given twice; allowed: once")
            values.append(value)
            if option in _FOLDERS:
                self.words.append(f"{option}={Path(caller) / value}")
            elif option in self.paths:
                self.paths[option] = Path(caller) / value
                if not self.paths[option].parent.is_dir():
                    raise Refused(f"{option} is '{value}'; allowed: a file in a folder that exists")
            else:
                self.words.append(f"{option}={value}")
        require_known(given)
        self.operator = given.get("--operator", [None])[-1]
        self.names = given.get("--implementation", [])
        self.variants = "--all" in given
        # the options select one table instead of the usual ladders
        self.alone = not given.keys() <= {"--json", "--html", "--patience", "--all"}
        if self.copy:
            if self.words or not given.keys() <= {self.copy.mine, "--html"}:
                raise Refused(f"{self.copy.mine} is drawn beside {self.copy.solution}; allowed with it: --html FILE")
            if "--html" not in given:
                self.paths["--html"] = page_of(self.copy)


def python_with(*modules):
    """A Python with these modules, this one or another python3 in PATH, found without importing
    them; or None."""
    ask = f"import importlib.util, sys; sys.exit(None in map(importlib.util.find_spec, {modules}))"
    candidates = [sys.executable] + [shutil.which("python3", path=folder) for folder in (*os.get_exec_path(), "/usr/bin")]
    for python in dict.fromkeys(filter(None, candidates)):
        if subprocess.run([python, "-c", ask], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def plotting_python():
    return python_with("matplotlib")


def _draw(json, plot):
    python = plotting_python()
    if python is None:
        print("no plot, because no python3 here has matplotlib (pip install matplotlib, or apt-get install python3-matplotlib)")
        return
    drawn = subprocess.run([python, _HELP / "plot.py", json, plot], stderr=subprocess.PIPE, text=True)
    if drawn.returncode == 0:
        print(f"written: {plot}")
    else:
        print(f"no plot ({(drawn.stderr.splitlines() or ['plot.py failed'])[-1]})")


def _mine(places):
    """The exercise whose learner's copy runs beside ours."""
    if len(places) != 1:
        raise Refused("--mine takes one lesson, such as 03 or 07.02")
    exercise = exercise_of(places[0])
    if not registered_names((ROOT / exercise.solution).read_text()):
        raise Refused(f"--mine works for lessons that are rows of the ladder; {exercise.name} is not one")
    if not (ROOT / exercise.mine).exists():
        raise Refused(f"{exercise.mine} does not exist; ./ladder exercise {exercise.name} creates it")
    if shutil.which("objcopy") is None:
        raise Failed("objcopy is not installed (it comes with binutils), and --mine needs it")
    return exercise


def tables_of_story(built):
    """The program's options for the tables of ./ladder run without a chapter. Kernels of lessons
    that are not `built` have their source, because their recorded time is looked up by it."""
    words = []
    for operator, precision, shape, rungs, summits in story():
        names = [rung.name if rung.library in built else f"{rung.name}={rung.source}" for rung in rungs]
        words.append(f"--table={'summits: ' * summits}{' '.join([operator, precision, shape, *names])}")
    return words


def run(words, preset, caller):
    arguments = Arguments("run", [word for word in words if word != "--mine"], caller)
    mine = _mine(arguments.places) if "--mine" in words else None
    build = Build(preset)
    build.lock()
    of_story = not (arguments.places or arguments.alone or arguments.variants)
    if of_story:  # only a configured build knows whether it has a GPU and nvcc
        lessons = {on_gpu: lessons_of_story(on_gpu) for on_gpu in (False, True)}
        prefixes = {on_gpu: program_of(each, build.folder) for on_gpu, each in lessons.items()}
    else:
        prefix = ask_for_program(arguments, build.folder)
    build.prepare()
    on_gpu = build.runs_on_gpu()
    back_end = "cuda" if on_gpu else "emulated"
    if of_story:
        prefix = prefixes[on_gpu]
        arguments.words += tables_of_story(lessons[on_gpu])
    xray = not (on_gpu or of_story) and build.has_xray() and (mine is None or mine.needs_device)

    def program(which):
        return f"mine.{mine.name}_{which if mine.needs_device else 'cpu'}" if mine else f"{prefix}_{which}"

    targets = [program(each) for each in [back_end] + (["xray"] if xray else [])]
    if preset == "cuda" and back_end == "emulated":
        targets.append(program("cuda"))
        say("no GPU was found, so the CUDA program is compiled, but the emulator runs")
    build.build(*targets)
    json = arguments.paths["--json"]
    before = json.stat().st_mtime_ns if json.exists() else None
    status = run_program(build.folder / targets[0], "--condition", "driver", ask_nvidia("driver_version") or "none", f"--json={json}",
                         "--recorded=records", *arguments.words)
    if status == 0 and json.exists() and json.stat().st_mtime_ns != before:
        if xray:
            status = run_program(build.folder / targets[1], "--run", json)
        sys.stdout.flush()
        _draw(json, json.with_suffix(".png"))
    return status


def xray(words, preset, caller):
    if "--play" in words:
        return play(words, preset, caller)
    arguments = Arguments("xray", words, caller)
    build = Build(preset)
    if arguments.copy:
        return 0 if check_and_draw(arguments.copy, build, arguments.paths["--html"]) else 1
    build.lock()
    program = f"{ask_for_program(arguments, build.folder)}_xray"
    build.prepare()
    if not build.has_xray():
        raise Failed("the X-ray needs g++, but this build uses another compiler")
    build.build(program)
    paths = [f"{option}={path}" for option, path in arguments.paths.items()]
    return run_program(build.folder / program, *paths, *arguments.words)


def apply(words, preset, caller):
    arguments = Arguments("apply", words, caller)
    given = arguments.given
    if arguments.places:
        raise Refused(f"apply is followed by '{arguments.places[0]}'; allowed: options alone")
    if arguments.operator is None:
        raise Refused("--operator is missing; allowed: --operator NAME, such as wkv")
    if "--example" not in given and not {"--in", "--out"} <= given.keys():
        raise Refused("--in and --out are not both given; allowed: both, or --example")
    if "--example" not in given and not any((Path(caller) / given["--in"][-1]).glob("*.npy")):
        raise Refused(f"--in is '{given['--in'][-1]}'; allowed: a folder with .npy files")
    by_rules = f"best_{arguments.operator}"
    if not arguments.names and any(by_rules in row.names for row in rows()):
        arguments.names = [by_rules]
    build = Build(preset)
    build.lock()
    prefix = ask_for_program(arguments, build.folder)
    build.prepare()
    program = f"{prefix}_{'cuda' if build.runs_on_gpu() else 'emulated'}"
    build.build(program)
    return run_program(build.folder / program, "apply", *arguments.words)
