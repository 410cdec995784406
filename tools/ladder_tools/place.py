"""The tree: its chapters, lessons and exercises, and the errors for wrong arguments."""
import difflib
import math
import os
import re
import resource
import signal
from dataclasses import dataclass
from pathlib import Path

from ladder_tools.scratch import stub_of

ROOT = Path(__file__).resolve().parents[2]
ABOVE_THE_CHAPTERS = "best"
MORE = "more"  # the folder for everything beyond a lesson's page, kernel, exercise and tests


def write_whole(path, text):
    """Writes a small file so that a concurrent reader finds the old text or the new one, never a
    part."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(text)
    new.replace(path)


def text_of(path):
    """The text of a file, relative to ROOT or absolute; "" if it does not exist."""
    path = ROOT / path
    return path.read_text(errors="replace") if path.exists() else ""


class Refused(Exception):
    """A wrong argument. The text names the argument and the allowed values, and suggests the one of
    `known` that `word` resembles, if only letters differ, not digits. Nothing has been built."""

    def __init__(self, text, word="", known=()):
        def digits(name):
            return re.sub(r"\D", "", name)
        near = difflib.get_close_matches(word, [each for each in known if digits(word) in ("", digits(each))], 1, 0.66)
        super().__init__(f"{text}; did you mean {near[0]}?" if near else text)


def refused(what, word, known, more=""):
    """The usual Refused: "chapter is '99'; allowed: ..."."""
    return Refused(f"{what} is '{word}'; allowed: {' '.join(known)}{more}", word, known)


class ToRead(Refused):
    """Not an error, but the command has nothing else to do: a lesson without an exercise names the
    next one, and --mistake alone lists the mistakes."""


class Failed(Exception):
    """An error that ends the command."""


def require_no_limit(status):
    """Raises Failed if a limit of the shell ended the program, because that is not the program's
    fault."""
    limit = {-signal.SIGXFSZ: "a larger file than ulimit -f", -signal.SIGXCPU: "more seconds than ulimit -t"}.get(status)
    if limit:
        raise Failed(f"a program needed {limit} allows here, and was ended; allowed: a larger limit, or none")


# ulimit's letter, the limit, its unit, and a value that is always enough.
_LIMITS = (("v", resource.RLIMIT_AS, 1024, math.inf), ("f", resource.RLIMIT_FSIZE, 1024, math.inf),
           ("s", resource.RLIMIT_STACK, 1024, 1024), ("t", resource.RLIMIT_CPU, 1, math.inf))


def limits_of_the_shell():
    """A line with the limits that a compiler, ninja or the emulator may have reached, or ""."""
    low = []
    for letter, which, unit, enough in _LIMITS:
        limit = resource.getrlimit(which)[0]
        if limit != resource.RLIM_INFINITY and limit // unit < enough:
            low.append(f"-{letter} {limit // unit}")
    if not low:
        return ""
    return f"\na limit of this shell may be the cause: ulimit {' '.join(low)}; allowed: larger ones, or none"


def number_of(name):
    """03 for 03_cuda_baseline, 11b for 11b_decay_per_head; "" for other folders."""
    found = re.match(r"([0-9]{2}[a-z]?)_", name)
    return found[1] if found else ""


def idea_of(name):
    """chunk_walk of 02_chunk_walk"""
    return name.partition("_")[2]


def lesson_of(folder):
    """03 for 03_cuda_baseline, 07.02_chunk_walk for 07_chunkwise/02_chunk_walk, also if these
    folders are inside others."""
    chapter, *lesson = filter(number_of, Path(folder).parts)
    return ".".join([number_of(chapter), *lesson])


def _padded(number):
    """02 for 2, 11b for 11b; None if it is not a lesson's number."""
    found = re.fullmatch(r"([0-9]{1,2})([a-z]?)", number)
    return f"{found[1]:0>2}{found[2]}" if found else None


def _numbered(folder):
    return sorted(path.name for path in folder.iterdir() if number_of(path.name) and path.is_dir())


def chapters():
    return [name for name in _numbered(ROOT) if name[2] == "_"]


def lessons(chapter):
    """The folders of a chapter's lessons, without its own folder, which is lesson 00."""
    return _numbered(ROOT / chapter)


@dataclass(frozen=True)
class Place:
    """A chapter, or one lesson of it."""
    chapter: str
    lesson: str = None  # "02_chunk_walk"; "" is the chapter's own folder, None all lessons

    @property
    def folder(self):
        """07_chunkwise/02_chunk_walk"""
        if self.chapter == ABOVE_THE_CHAPTERS:
            return f"library/{self.chapter}"
        return f"{self.chapter}/{self.lesson}" if self.lesson else self.chapter

    @property
    def room(self):
        """The prefix of its tests' names, and of the target that builds them, NAME_all: chapter07,
        chapter07.02_chunk_walk."""
        if self.chapter == ABOVE_THE_CHAPTERS:
            return self.chapter
        return f"chapter{number_of(self.chapter)}" + ("" if self.lesson is None else f".{self.lesson or '00'}")

    @property
    def word(self):
        """The word that the ladder's programs take."""
        if self.chapter == ABOVE_THE_CHAPTERS:
            return self.chapter
        return f"{number_of(self.chapter)}.00" if self.lesson == "" else self.folder


def _chapter(name):
    return next((folder for folder in chapters() if name in (folder, idea_of(folder)) or _padded(name) == number_of(folder)), None)


def place_of(word):
    """The place of 3, 03, 03_cuda_baseline or best; for a lesson 07.2, 07.02, 07.11b,
    07.02_chunk_walk, 07_chunkwise/02_chunk_walk or chunk_walk. 03.00 is the chapter's own
    folder."""
    name = word.rstrip("/")
    if name == ABOVE_THE_CHAPTERS:
        return Place(name)
    before, separator, after = name.partition("/" if "/" in name else ".")
    chapter = _chapter(before)
    if chapter and not separator:
        return Place(chapter)
    if chapter:
        number = _padded(after)
        if number == "00":
            return Place(chapter, "")
        for lesson in lessons(chapter):
            if after in (lesson, idea_of(lesson)) or number == number_of(lesson):
                return Place(chapter, lesson)
        known = " ".join(f"{number_of(chapter)}.{lesson}" for lesson in lessons(chapter))
        raise Refused(f"lesson is '{word}'; allowed: {known or f'none, because {chapter} has no further lessons'}",
                      name, [f"{before}.{each}" for lesson in lessons(chapter) for each in (lesson, idea_of(lesson))])
    named = [Place(each, lesson) for each in chapters() for lesson in lessons(each) if name in (lesson, idea_of(lesson))]
    if len(named) == 1:
        return named[0]
    if named:
        raise refused("lesson", word, [place.folder for place in named])
    raise Refused(f"chapter is '{word}'; allowed: {' '.join(chapters())} or their numbers, lessons such as 07.02, {ABOVE_THE_CHAPTERS}",
                  name, [each for chapter in chapters() for lesson in (chapter, *lessons(chapter)) for each in (lesson, idea_of(lesson))])


class Exercise:
    """One lesson's exercise: its stub, our solution, the learner's copy, and the holes. There are
    two kinds: in an `exercise`, lines of the kernel are missing; in a `scratch`, all that its
    more/scratch.holes names."""

    def __init__(self, stub):
        self.stub = stub  # the stored file; all paths are relative to ROOT
        # without the _sm90 that the names of Hopper kernels and stubs have
        self.kind, *_ = stub.stem.split("_")
        self.folder = stub.parents[1] if stub.parent.name == MORE else stub.parent
        self.lesson = lesson_of(self.folder)
        # 03, 07.02_chunk_walk, 03.scratch
        self.name = self.lesson + (f".{self.kind}" if self.kind == "scratch" else "")
        self.solution = kernel_in(self.folder) if self.kind == "scratch" else self.folder / stub.name.replace(self.kind, "kernel")
        self.mine = Path("my") / self.folder / self.solution.name.replace("kernel", self.kind)
        self.target = f"my{self.name}"  # CMake's target of the learner's copy
        self.needs_device = self.solution.suffix == ".cu"

    @property
    def text(self):
        """The stub's text."""
        text = text_of(self.stub)
        if self.kind == "exercise":
            return text
        try:
            return stub_of(text, self.stub, text_of(self.solution), self.solution)
        except ValueError as error:
            raise Failed(str(error)) from None

    @property
    def begins_with(self):
        """The earlier lesson's kernel from which the stub is made, "03_cuda_baseline/kernel.cu", by
        its first line; None if the stub is this lesson's kernel with holes."""
        first = re.match(r"// .*; begins with (\S+)\.\n", text_of(self.stub))
        return Path(first[1]) if first else None

    @property
    def page(self):
        """The page that explains it and has its hints. The stages of a kernel from scratch have
        their own."""
        stages = self.folder / MORE / "stages.md"
        return stages if self.kind == "scratch" and (ROOT / stages).exists() else self.folder / "README.md"

    @property
    def piece(self):
        """The name of a numbered TODO on that page and in the tests' names."""
        return "stage" if self.page.name == "stages.md" else "hole"

    def holes(self):
        """The holes' numbers, in the stub's order."""
        return list(dict.fromkeys(re.findall(r"TODO\(([0-9]+)\)", self.text)))

    def first_todo(self, of=None):
        """(hole, "my/03_cuda_baseline/exercise.cu:44: TODO(1): roughly 3 lines; ...") for the first
        TODO in the learner's copy, among the holes `of`; None if none is left."""
        lines = (ROOT / self.mine).read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            found = re.search(r"TODO\(([0-9]+)\)", line)
            if not found or of is not None and found[1] not in of:
                continue
            text = line.lstrip(" /\t")
            for further in lines[number:]:  # a TODO of several lines has its number on each
                rest = re.match(rf"[ /\t]*TODO\({found[1]}\): (.*)", further)
                if not rest:
                    break
                if rest[1].startswith("budget:") and not text.endswith("?"):
                    text = text.rstrip(".;") + ";"
                text += " " + rest[1]
            return found[1], f"{self.mine}:{number}: {text}"
        return None


def kernel_in(folder):
    """The kernel of a lesson's folder, or None."""
    return next((folder / name for name in ("kernel.cu", "kernel_sm90.cu", "kernel.cpp") if (ROOT / folder / name).exists()), None)


def registered_names(source):
    """The implementations that a source registers."""
    return re.findall(r'\.name = "([a-z0-9_]*)"', source)


def in_lessons(pattern):
    """The matching files in the folders of chapters and lessons, relative to ROOT, in reading
    order."""
    folders = [ROOT / chapter / lesson for chapter in chapters() for lesson in ("", *lessons(chapter))]
    return [path.relative_to(ROOT) for folder in folders for path in sorted(folder.glob(pattern))]


def exercises(kind="exercise"):
    """In reading order: 03, then 03.01_causal_dot_product."""
    pattern = "exercise*.c*" if kind == "exercise" else f"{MORE}/scratch.holes"
    return [Exercise(stub) for stub in in_lessons(pattern) if re.fullmatch(r"exercise\.cpp|exercise(_sm90)?\.cu|scratch\.holes", stub.name)]


def bosses():
    """The patches that break a lesson's kernel, for `./ladder exercise 03.boss`, by the boss's
    name."""
    return {f"{lesson_of(patch)}.boss": patch for patch in in_lessons(f"{MORE}/boss.patch")}


def mistakes():
    """The patches that plant a mistake in a lesson's kernel, by name: 03.decay_first."""
    return {f"{lesson_of(patch)}.{patch.stem}": patch for patch in in_lessons(f"{MORE}/mistakes/*.patch")}


def question_of(folder):
    """The question at the end of the lesson's page: 'its question: "..."; '."""
    asked = re.search(r"^## What next\?\n+((?:.+\n)*?.*?\?)\s", text_of(f"{folder}/README.md"), re.MULTILINE)
    plain = re.sub(r"\[([^\]]*)\]\([^)\s]*\)|[*`]", r"\1", " ".join(asked[1].split())) if asked else ""
    return f'its question: "{plain}"; ' if plain else ""


def exercise_of(name):
    """The exercise for a word that place_of takes, or for 03.scratch; for a whole chapter, its
    first."""
    lesson, dot, kind = name.rpartition(".")
    if not dot or kind != "scratch":
        lesson, kind = name, "exercise"
    known = exercises(kind)
    names = [each.name for each in known]
    wrong = Refused(f"exercise is '{name}'; allowed: {' '.join(names)}", name, [*names, *bosses(), *(each.name for each in exercises("scratch"))])
    try:
        place = place_of(lesson)
    except Refused as refusal:
        raise refusal if "did you mean" in str(refusal) else wrong from None
    for each in known:
        if str(each.folder) == place.folder or place.lesson is None and each.folder.parts[0] == place.chapter:
            return each
    if kind == "exercise" and place.lesson:
        follow = [each for each in exercises("scratch") if str(each.folder) == place.folder] + [each for each in known if str(each.folder) > place.folder]
        raise ToRead(f"{lesson_of(place.folder)} is a lesson to read, without an exercise; {question_of(place.folder)}next: ./ladder exercise {(follow or known)[0].name}")
    raise wrong
