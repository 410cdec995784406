"""What a patch beside a kernel makes of it, what the lines above the patch say, and how a patch is written."""
import difflib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ladder_tools.place import ROOT, Failed, registered_names, text_of

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
        return patched(exercise.begins_with or exercise.solution, exercise.patch, root)
    except ValueError as error:
        raise ValueError(f"{str(error).rstrip()}; edit {exercise.stub}, then tools/upkeep/exercises.py --adopt {exercise.lesson}") from None


def between(before, after, old, new):
    """The patch that makes the text `after`, of the file `new`, of `before`, of the file `old`."""
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{old}", f"b/{new}"))


def adopt(exercise, root=ROOT):
    """Writes the patch from an exercise that was edited by hand."""
    kernel = exercise.begins_with or exercise.solution
    patch = between((root / kernel).read_text(), (root / exercise.stub).read_text(), kernel, exercise.stub)
    (root / exercise.patch).write_text(_HEAD.format(stub=exercise.stub.name, kernel=kernel if exercise.begins_with else kernel.name) + patch)


def with_name_of(text, other):
    """`text` with its implementation called as in `other`: a step's name is not its idea."""
    ours, theirs = registered_names(text), registered_names(other)
    return re.sub(rf"\b{ours[0]}\b", theirs[0], text) if ours and theirs else text


def under_head_of(head, text):
    """The lines of `text` behind its first comment, under the first comment of `head` and with the name of its implementation."""
    first = re.compile(r"(?://.*\n)*")
    return first.match(head)[0] + with_name_of(text[first.match(text).end():], head)


def holes_of(exercise):
    """Where lines are missing. An exercise that begins with the step before has one hole: what this lesson's kernel has instead."""
    stub, kernel = text_of(exercise.stub), text_of(exercise.solution)
    if exercise.begins_with:
        before = under_head_of(kernel, text_of(exercise.begins_with)).splitlines()
        lines, done = [], 0
        for at, to, instead in changes(before, kernel.splitlines()):
            lines += before[done:at] + [f"// TODO(1): roughly {len(instead)} lines"] * bool(instead)
            done = to
        stub = "\n".join(lines + before[done:]) + "\n"
    return Holes(stub, kernel)


_TODO = re.compile(r"TODO\(([0-9]+)\)")


class Holes:
    """A stub's text, and at which of its lines what is missing. A hole's TODO stands where its lines go; one that speaks of places, or of
    somewhere, also has those lines of our kernel that stand at no TODO. Of TODOs side by side each takes as many lines as it says."""

    def __init__(self, stub, kernel):
        self._fixed, todos, spread = [], {}, None  # todos: {line of fixed: {hole: lines it says}}
        for line in stub.splitlines():
            todo = _TODO.search(line)
            if not todo:
                self._fixed.append(line)
                continue
            at_once = todos.setdefault(len(self._fixed), {})
            roughly = re.search("roughly ([0-9]+)", line)
            at_once.setdefault(todo[1], int(roughly[1]) if roughly else 0)
            if re.search(r"\bat [a-z]+ places|\bsomewhere\b", line):
                spread = todo[1]
        self.places = []  # (line of fixed, hole, our lines), in order
        ours = self._added(kernel, todos)
        if ours is None or any(at not in todos for at in ours) and spread is None:
            raise ValueError("solving it must only add lines where a TODO stands")
        for at in sorted(todos.keys() | ours.keys()):
            lines, holes = ours.get(at, []), todos.get(at, {spread: 0})
            for last, (hole, roughly) in enumerate(holes.items(), 1):
                some = len(lines) if last == len(holes) else roughly
                self.places.append((at, hole, lines[:some]))
                lines = lines[some:]

    def _added(self, text, preferred):
        """{line of fixed: the lines that the text has before it}, at preferred lines where equal lines leave a choice; None if the text lacks a
        line."""
        lines, fixed, found = [line for line in text.splitlines() if not _TODO.search(line)], self._fixed, {}
        for at, to, block in changes(fixed, lines):
            if to > at:
                return None
            for step in (0, *range(1, len(block) + 1)):
                down = fixed[at:at + step] == block[:step] and (at + step, block[step:] + block[:step])
                up = step <= at and fixed[at - step:at] == block[len(block) - step:] and (at - step, block[len(block) - step:] + block[:len(block) - step])
                slid = next((each for each in (down, up) if each and each[0] in preferred), None)
                if slid:
                    at, block = slid
                    break
            found[at] = found.get(at, []) + block
        return found

    def numbers(self):
        return list(dict.fromkeys(hole for _, hole, _ in self.places))

    def ours(self, hole):
        """Our lines, for each of the hole's places."""
        return [lines for _, number, lines in self.places if number == hole]

    def of(self, text):
        """{hole: its lines in the text, for each of its places}; None if other lines have changed too, or it cannot be said whose they are."""
        added = self._added(text, {at for at, _, _ in self.places})
        if added is None or not added.keys() <= {at for at, _, _ in self.places}:
            return None
        found = {hole: [] for hole in self.numbers()}
        for at, hole, _ in self.places:
            if at in added and {number for place, number, _ in self.places if place == at} != {hole}:
                return None
            found[hole].append(added.get(at, []))
        return found

    def filled(self, hole, parts):
        """Our kernel with these lines in one hole, and the number of the first line of each of its places."""
        lines, done, parts, begins = [], 0, list(parts), []
        for at, number, ours in self.places:
            lines += self._fixed[done:at]
            done = at
            if number == hole:
                begins.append(len(lines) + 1)
                ours = parts.pop(0) if parts else []
            lines += ours
        return "\n".join(lines + self._fixed[done:]) + "\n", begins
