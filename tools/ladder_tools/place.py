"""The tree: its chapters and exercises, and how a wrong argument is refused."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ABOVE_THE_CHAPTERS = "best"


class Refused(Exception):
    """A wrong argument. The text names the argument and what is allowed; nothing has been built."""


class Failed(Exception):
    """What ends the command, with the exit code to end with."""

    def __init__(self, text, code=1):
        super().__init__(text)
        self.code = code


def chapters():
    return sorted(path.name for path in ROOT.iterdir() if re.match(r"[0-9]{2}_", path.name) and path.is_dir())


def folder_of(chapter):
    """The folder's name for 3, 03, 03_cuda_baseline or best."""
    name = chapter.rstrip("/")
    if name == ABOVE_THE_CHAPTERS:
        return name
    number = name.zfill(2) if re.fullmatch(r"[0-9]{1,2}", name) else None
    for folder in chapters():
        if name == folder or number == folder[:2]:
            return folder
    raise Refused(f"chapter is '{chapter}'; allowed: {' '.join(chapters())} or their numbers, {ABOVE_THE_CHAPTERS}")


class Exercise:
    """One exercise: its stub, our solution of it, the learner's copy, and the stub's holes."""

    def __init__(self, stub):
        self.stub = stub  # all paths relative to ROOT
        self.folder = stub.parent
        idea = re.sub(r"_?exercise$", "", stub.stem)
        self.name = self.folder.name[:2] + (f".{idea}" if idea else "")
        self.solution = self.folder / f"{idea or 'kernel'}{stub.suffix}"
        self.mine = Path("my") / stub
        self.needs_device = stub.suffix == ".cu"

    def holes(self):
        """In the order of the stub: 03.1"""
        return list(dict.fromkeys(re.findall(r"TODO\(([0-9.]*)\)", (ROOT / self.stub).read_text())))

    def first_todo(self):
        """(hole, "my/03_cuda_baseline/exercise.cu:44: TODO(03.1): roughly 3 lines; ...") of the learner's copy; None if none is left."""
        for number, line in enumerate((ROOT / self.mine).read_text(errors="replace").splitlines(), 1):
            found = re.search(r"TODO\(([0-9.]+)\)", line)
            if found:
                return found.group(1), f"{self.mine}:{number}: {line.lstrip(' /' + chr(9))}"
        return None


def exercises():
    """In reading order: 03, then 03.causal_dot_product."""
    found = [Exercise(stub.relative_to(ROOT)) for folder in chapters() for stub in (ROOT / folder).glob("*exercise.c*")
             if re.fullmatch(r"(.*_)?exercise\.(cpp|cu)", stub.name)]
    return sorted(found, key=lambda each: each.name)


def exercise_of(name):
    """For 3, 03, 03_cuda_baseline and 03.causal_dot_product."""
    known = {each.name: each for each in exercises()}
    chapter, dot, idea = name.rstrip("/").partition(".")
    try:
        folder = folder_of(chapter)
    except Refused:
        folder = ""
    found = known.get(folder[:2] + dot + idea)
    if found is None:
        raise Refused((f"exercise is '{name}'" if name else "exercise needs a name") + f"; allowed: {' '.join(known)}")
    return found
