#!/usr/bin/env python3
"""Checks that the command lines in all Markdown pages are valid today: the lessons, options,
mistakes, operators, targets, presets and files that they name must exist. With --run, it also runs
the cheap commands of some pages."""
import argparse
import contextlib
import functools
import io
import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from nvcc import ROOT, files_here
from ladder_tools import (book, boss, check, exercise, learning, new, pack, place, programs, recordings,
                          room, rows, testing)
from ladder_tools.place import Refused, ToRead, exercise_of, exercises, place_of, refused
from ladder_tools.rows import operators

HISTORY = ("docs/CHANGELOG.md",)  # these pages use the names of their time
_FENCE = re.compile(r"^(?P<mark>```+|~~~+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=mark)[ \t]*$", re.S | re.M)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMAND = re.compile(r"(?:[A-Z_]+=\S+ +)*(?:\./ladder|ctest|cmake|git|nvcc|build/\S+|tools/\S+|\.ci/\S+|python3)(?:\s|$)")
_SHELLS = ("", "sh", "bash", "shell", "console")
# Placeholders for the reader: NAME, [HOLE], mistake.NAME, 06.11_my_idea ..., but not an operator's
# size such as T=8.
_TO_FILL_IN = re.compile(r"(?:^|[./*'{\[])(?:[A-Z]{2,}[A-Z_]*|N|X)(?:$|[.\]}'_/])|\.\.\.|[<\[…]|\bmy_\w+|\$\w|\bab?\.npy")


def command_lines(page):
    """[(line number, text)] of a page's commands, in fenced blocks and in code spans."""
    found, rest = [], page
    for block in _FENCE.finditer(page):
        rest = rest.replace(block[0], re.sub(r"[^\n]", "", block[0]), 1)
        if block["language"].strip() not in _SHELLS:
            continue
        first = page.count("\n", 0, block.start()) + 2
        lines = block["text"].split("\n")
        at = 0
        while at < len(lines):
            line, begin = lines[at], at
            while line.endswith("\\") and at + 1 < len(lines):
                at += 1
                line = line[:-1] + lines[at]
            found.append((first + begin, line.strip().removeprefix("$ ")))
            at += 1
    found += [(number, span) for number, line in enumerate(rest.split("\n"), 1) for span in _SPAN.findall(line)]
    return sorted((number, text) for number, text in found if _COMMAND.match(text))


def simple_commands(text):
    """[["git", "clone", ...], ["cd", ...]], without explanations, redirections and variables."""
    # an explanation may follow after blanks only
    text = re.split(r"\s#(?:\s|$)| {2,}(?=[a-z]+[,:;']? [a-z])", text, maxsplit=1)[0]
    text = re.sub(r"<[\w' ]+>", "ADDRESS", text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise Refused(f"no shell reads it: {error}") from None
    commands = [[]]
    for word in words:
        if word and set(word) <= set("|&;"):
            commands.append([])
        else:
            commands[-1].append(word)
    for command in commands:
        if ">" in command:
            del command[command.index(">"):]
        while command and re.match(r"[A-Z_]+=", command[0]):
            del command[0]
    return [command for command in commands if command]


class Tree:
    """The names that commands may use: files, CMake's targets and presets, tests, and the lessons
    that a page creates with ./ladder new."""

    def __init__(self, root, known):
        self.root, self.files = root, set(map(str, known))
        self.folders = {str(folder) for each in known for folder in Path(each).parents}
        self.cmake = "\n".join((root / each).read_text() for each in known if each.endswith(("CMakeLists.txt", ".cmake")) and (root / each).exists())
        presets = root / "CMakePresets.json"
        document = json.loads(presets.read_text()) if presets.exists() else {}
        self.presets = {each["name"] for group in document.values() if isinstance(group, list) for each in group}
        self.sources = [root / each for each in known if each.endswith((".cpp", ".cu", ".hpp")) and (root / each).exists()]
        self._names = None

    def require_file(self, word):
        """Checks that a path into the tree exists, or that a pattern matches some."""
        path = word.rstrip("/").removeprefix("./")
        if "*" in path:
            if not any(self.root.glob(path)):
                raise Refused(f"there is no {word}")
        elif path not in self.files | self.folders:
            raise Refused(f"there is no {word}")

    def is_of_the_tree(self, word):
        top = word.removeprefix("./").partition("/")[0]
        return "/" in word and top in self.folders | self.files and top not in ("build", "my", "out", "dist")

    def require_target(self, word):
        """Checks a program or target of CMake, by the CMake files or by the rule for chapters and
        lessons."""
        name = word.rpartition("/")[2]
        room = re.fullmatch(r"chapter([0-9][^_]*(?:\.[0-9]\w*?)?)_(all|\w*tests|xray_tests|numerics)", name)
        if room:
            with contextlib.suppress(Refused):
                place_of(room[1])
                return
        stem = re.sub(r"_(emulated|cuda|xray|cpu)$", "", name)
        if not re.search(rf"(?<![\w.]){re.escape(stem)}(?![\w.])", self.cmake) and not name.startswith("ladder_"):
            raise Refused(f"no target is called {name}")

    def require_test(self, pattern):
        """Checks that a test may have this name: each of its words occurs in a source."""
        if self._names is None:
            self._names = set(re.findall(r"\w+", "\n".join(path.read_text(errors="replace") for path in self.sources)))
            self._names |= {f"chapter{number:02}" for number in range(100)} | {"stub", "mistake", "boss", "emulated", "cuda", "cpu"}
        for word in re.findall(r"\w{4,}", pattern):
            if not any(word in name for name in self._names):
                raise Refused(f"no test is called {word}")


def _value_after(words, option):
    for at, word in enumerate(words):
        if word == option and at + 1 < len(words):
            yield words[at + 1]
        elif word.startswith(f"{option}="):
            yield word.partition("=")[2]


def _of_new(words):
    new.Arguments(words)


def _of_which(words):
    places = [word for at, word in enumerate(words) if not word.startswith("-") and (at == 0 or words[at - 1] not in ("--precision", "--options"))]
    if not places:
        raise Refused("which takes an operator")
    if places[0] not in operators():
        raise refused("operator", places[0], operators())
    programs.require_known({option: list(_value_after(words, option)) for option in ("--precision", "--options")} | {"--shape": places[1:2]})


def _of_compare(words):
    known = re.findall(r'add_argument\("(--[\w-]+)"', (ROOT / "tools/upkeep/compare/compare.py").read_text())
    for word in words:
        if word.startswith("--") and word.partition("=")[0] not in [*known, "--help"]:
            raise refused("option", word, known)


def _of_exercise(words):
    name = words[0] if words else ""
    if name.endswith(".boss"):
        boss.Boss(name)
        if len(words) not in (1, 3):
            raise Refused(f"{name} takes a line and a reason")
    elif name or words:
        exercise.Arguments(words)


def _of_xray(words):
    if "--play" in words:
        recordings.arguments_of_play(words, str(ROOT))
        return
    copies = [word for word in words if word.startswith("my/")]
    for copy in copies:
        if not any(Path(copy) in (each.mine, each.mine.parent) for each in exercises() + exercises("scratch")):
            raise Refused(f"copy is '{copy}'; no exercise has its copy there")
    programs.Arguments("xray", [word for word in words if word not in copies], str(ROOT))


def _of_run(words):
    programs.Arguments("run", [word for word in words if word != "--mine"], str(ROOT))
    if "--mine" in words:
        exercise_of(next(word for word in words if not word.startswith("-")))


def _of_apply(words):
    # The reader chooses these folders.
    folders = [value for option in ("--in", "--out", "--example") for value in _value_after(words, option)]
    programs.Arguments("apply", [word for word in words if word not in folders and word not in ("--in", "--out", "--example")], str(ROOT))


def _of_test(words):
    if words[:1] == ["--mistakes"]:
        if words[1:] and words[1] not in operators():
            raise refused("operator", words[1], sorted(operators()))
    else:
        testing.Arguments(words)


def _of_diff(words):
    if len(words) != 2:
        raise Refused("diff takes two chapters or lessons")
    for word in words:
        learning.kernel_of(word)


def _of_doctor(words):
    if words != ["--json"]:
        raise Refused("doctor takes no arguments except --json")


def _of_prepare(words):
    for word in words:
        place_of(word)


def _of_check(words):
    check.Asked([re.sub(r"^(FILE|my)\.cu$", "race.cu", word) for word in words], ROOT / "common/check/test")


def _of_nothing(words):
    if words:
        raise Refused(f"it takes no arguments, not '{' '.join(words)}'")


_LADDER = {"run": _of_run, "xray": _of_xray, "apply": _of_apply, "check": _of_check, "test": _of_test, "exercise": _of_exercise, "learn": learning.arguments_of_learn, "diff": _of_diff,
           "prepare": _of_prepare, "new": _of_new, "which": _of_which, "compare": _of_compare, "configure": _of_nothing, "doctor": _of_doctor,
           "pack": pack.Arguments, "room": room.arguments_of_room, "book": book.arguments_of_book, "help": _of_nothing, "python": lambda words: None}


def check_ladder(words):
    """Raises Refused or ToRead as ./ladder would, before anything is built."""
    words = [word for word in words if word not in ("--cuda", "--emulator")]
    if {"--help", "-h", "--version"} & set(words) or not words:
        return
    command, *rest = words
    if command not in _LADDER:
        raise refused("command", command, _LADDER)
    if not rest:  # a sentence may name a command without arguments
        return
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            _LADDER[command](rest)
        except ToRead:
            if "--mistake" not in rest:
                raise


def check_command(words, tree):
    """Raises Refused with the name that does not exist."""
    program, *rest = words
    if program == "./ladder":
        return check_ladder(rest)
    for option in ("--preset",):
        for value in _value_after(rest, option):
            if value not in tree.presets:
                raise refused("preset", value, sorted(tree.presets))
    if program == "cmake":
        for value in _value_after(rest, "--target"):
            tree.require_target(value)
    elif program == "ctest":
        for value in _value_after(rest, "-R"):
            tree.require_test(value)
    elif program.startswith(("build/", "build-emulator/")):
        tree.require_target(program)
        for value in _value_after(rest, "--gtest_filter"):
            tree.require_test(value)
    elif program.startswith(("tools/", ".ci/")):
        tree.require_file(program)
    for word in rest:
        if tree.is_of_the_tree(word):
            tree.require_file(word)
    return None


def faults(page, tree):
    """A sentence for each command in the page's text that does not work as written."""
    made_up, wrong = set(), []
    for number, text in command_lines(page):
        made_up |= set(re.findall(r"\./ladder new (\S+)", text))
        try:
            for command in simple_commands(text):
                names = {part for each in made_up for part in (each, each.partition("_")[0])}
                unknown = any(_TO_FILL_IN.search(word) for word in command) or any(name in word for name in names for word in command[2:])
                if not unknown:
                    check_command(command, tree)
                elif command[0] == "./ladder" and len(command) > 1 and command[1] not in _LADDER and not _TO_FILL_IN.search(command[1]):
                    raise refused("command", command[1], _LADDER)
        except Refused as refusal:
            wrong.append(f"{number}: {text}\n    {str(refusal)[:200]}")
    return wrong


# The commands that are run as written, and who runs the others, which build for minutes or need a
# GPU or a network.
CHEAP = ("learn", "diff", "doctor", "help")
ELSEWHERE = {
    "./ladder run": ".ci/check_command_line",
    "./ladder test": ".ci/run, all of it",
    "./ladder xray": ".ci/check_xray",
    "./ladder exercise": ".ci/check_exercise_loop; of every lesson .ci/check_solutions and .ci/check_must_fail",
    "./ladder prepare": ".ci/check_exercise_loop",
    "./ladder pack": ".github/workflows/pack.yml",
    "./ladder room": "tools/test_room.py",
    "tools/room/install": ".github/workflows/pack.yml",
    "./ladder which": ".ci/check_command_line",
    "./ladder apply": ".ci/check_apply",
    "./ladder book": ".ci/check_book",
    "./ladder check": ".ci/check_programs",
    "./ladder python": ".ci/check_library",
    "./ladder compare": "needs a GPU",
    "cmake": ".ci/run, all of it",
    "ctest": ".ci/run, all of it",
    "build/": ".ci/run, all of it",
    "nvcc": ".ci/compile_cuda",
    "cuobjdump": "reads what nvcc has made",
    "git": "only downloads or compares",
    "cd": "goes into what git has made",
}


def is_cheap(words):
    rest = [word for word in words[1:] if word not in ("--cuda", "--emulator")]
    if words[0] != "./ladder" or not rest:
        return False
    return rest[0] in CHEAP or "--help" in rest or rest[0] == "exercise" and bool({"--hint", "--solution"} & set(rest))


def run_cheap(pages, root):
    """Runs the cheap commands of these pages in `root`, each once. A sentence for each that fails,
    or that is neither cheap nor run elsewhere; and the number of commands that ran."""
    seen, wrong = set(), []
    for page in pages:
        for number, text in command_lines((root / page).read_text()):
            for command in simple_commands(text):
                if tuple(command) in seen or any(_TO_FILL_IN.search(word) for word in command):
                    continue
                seen.add(tuple(command))
                if is_cheap(command):
                    done = subprocess.run(command, cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL)
                    if done.returncode:
                        wrong.append(f"{page}:{number}: {text}\n    exit {done.returncode}: {(done.stderr or done.stdout).strip()[:300]}")
                elif not " ".join(command).startswith(tuple(ELSEWHERE)):
                    wrong.append(f"{page}:{number}: {text}\n    runs nowhere; tools/upkeep/check_commands.py lists which commands run, and where")
    return wrong, sum(map(is_cheap, map(list, seen)))


@contextlib.contextmanager
def looking_once():
    """Caches look-ups, because the tree does not change meanwhile."""
    places = [(place, "_numbered"), (place, "in_lessons"), (rows, "rows"), (programs, "rows"), (programs, "operators"), (programs, "members_of_cases"),
              (testing, "operators")]
    before = [getattr(*each) for each in places]
    for each, function in zip(places, before):
        setattr(*each, functools.cache(function))
    try:
        yield
    finally:
        for each, function in zip(places, before):
            setattr(*each, function)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/check_commands.py", description=__doc__)
    parser.add_argument("--run", nargs="+", metavar="PAGE", help="run the cheap commands of these pages in this tree; they write into my/")
    options = parser.parse_args(arguments)
    begin = time.process_time()
    if options.run:
        wrong, count = run_cheap(options.run, ROOT)
        what = f"{count} commands run"
    else:
        known = [each for each in files_here() if (ROOT / each).exists()]
        tree, count, wrong = Tree(ROOT, known), 0, []
        with looking_once():
            for page in known:
                if page.endswith(".md") and page not in HISTORY:
                    text = (ROOT / page).read_text()
                    count += len(command_lines(text))
                    wrong += [f"{page}:{fault}" for fault in faults(text, tree)]
        what = f"{count} command lines"
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"{what}, {len(wrong)} wrong ({time.process_time() - begin:.1f} CPU s of this program)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
