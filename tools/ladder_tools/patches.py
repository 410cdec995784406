"""What a patch beside a kernel makes of it, what the lines above the patch say, and how a patch is written."""
import difflib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ladder_tools.place import ROOT, Failed

_HEAD = "# {stub} is made of {kernel} by this: tools/upkeep/exercises.py\n"


def patched(kernel, patch, root=ROOT):
    """The kernel's text with the patch applied. ValueError, if it does not fit."""
    if shutil.which("patch") is None:
        raise Failed("patch is not installed (sudo apt-get install -y patch)")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "patched"
        run = subprocess.run(["patch", "--silent", "--fuzz=0", "--reject-file=-", f"--output={output}", root / kernel, root / patch],
                             capture_output=True, text=True)
        if run.returncode:
            raise ValueError(f"{patch} does not fit {kernel}: {run.stdout}{run.stderr}")
        return output.read_text()


def header(patch, word):
    """What the line "# WORD: ..." of a patch says, else ""."""
    found = re.search(rf"^# {word}: (.+)$", patch, re.MULTILINE)
    return found[1] if found else ""


def hole_of(exercise, patch, root=ROOT):
    """The hole of the exercise whose lines of the kernel the patch changes; "" if they are in none, or the patch changes another file."""
    if f"+++ b/{exercise.solution}\n" not in (root / patch).read_text():
        return ""
    kernel, stub = ((root / path).read_text().splitlines() for path in (exercise.solution, exercise.stub))
    changed = {at for at, to, _ in changes(kernel, patched(exercise.solution, patch, root).splitlines()) for at in range(at, max(to, at + 1))}
    for at, to, instead in changes(kernel, stub):
        todo = re.search(r"TODO\(([0-9]+)\)", "\n".join(instead))
        if todo and changed & set(range(at, to)):
            return todo[1]
    return ""


def changes(before, after):
    """[(first line, line behind the last, the lines instead)]"""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [(at, to, after[begin:end]) for kind, at, to, begin, end in matcher.get_opcodes() if kind != "equal"]


def made(exercise, root=ROOT):
    """The exercise's text, from kernel and patch. ValueError, if the patch does not fit."""
    try:
        return patched(exercise.solution, exercise.patch, root)
    except ValueError as error:
        raise ValueError(f"{str(error).rstrip()}; edit {exercise.stub}, then tools/upkeep/exercises.py --adopt {exercise.lesson}") from None


def between(before, after, old, new):
    """The patch that makes the text `after`, of the file `new`, of `before`, of the file `old`."""
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{old}", f"b/{new}"))


def adopt(exercise, root=ROOT):
    """Writes the patch from an exercise that was edited by hand."""
    patch = between((root / exercise.solution).read_text(), (root / exercise.stub).read_text(), exercise.solution, exercise.stub)
    (root / exercise.patch).write_text(_HEAD.format(stub=exercise.stub.name, kernel=exercise.solution.name) + patch)
