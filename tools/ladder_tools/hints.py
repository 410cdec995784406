"""The hints of an exercise, one at a time."""
import re

from ladder_tools.place import ROOT, text_of, write_whole

_HINTS_PER_HOLE = 3


class Hints:
    """The hints of the lesson's README: for each hole a line **Hole 1: ...**, then three <details>
    blocks; in its stages.md **Stage 1: ...**. A file beside the learner's copy counts those
    given."""

    def __init__(self, exercise):
        self._exercise = exercise

    def _count(self, hole):
        return (ROOT / self._exercise.mine).parent / f".hints_{self._exercise.piece.removeprefix('hole')}{hole}"

    def _red(self):
        return self._count("red" if self._exercise.kind == "exercise" else f"red_{self._exercise.kind}")

    def forget(self):
        for hole in self._exercise.holes():
            self._count(hole).unlink(missing_ok=True)
        self._red().unlink(missing_ok=True)

    def note_red(self, holes, right=()):
        """Notes the holes with mistakes, in order, so that hints begin there. `right`: holes
        without one."""
        write_whole(self._red(), " ".join([*holes, *(f"-{hole}" for hole in right)]))

    def _right(self):
        return [hole[1:] for hole in text_of(self._red()).split() if hole.startswith("-")]

    def first_red(self):
        """The first hole with a mistake in the last check; "" if there is none."""
        return next((hole for hole in text_of(self._red()).split() if hole in self._exercise.holes()), "")

    def given(self, hole):
        count = text_of(self._count(hole)).strip()
        return int(count) if count.isdecimal() else 0

    def texts(self, hole):
        """[(title, text)]"""
        page = text_of(self._exercise.page)
        section = re.search(rf"^\*\*{self._exercise.piece.title()} {hole}:.*\n((?:(?!\*\*Hole |\*\*Stage |## ).*\n?)*)", page, re.MULTILINE)
        if section is None:
            return []
        blocks = re.findall(r"^<details>(.*)\n((?:(?!</details>).*\n)*)", section[1], re.MULTILINE)
        plain = [(re.sub(r"<[^>]*>", "", title), re.sub(r"\[([^\]]*)\]\([^)\s]*\)", r"\1", text)) for title, text in blocks]
        return [(title, "".join(line for line in text.splitlines(True) if line.strip())) for title, text in plain]

    def give(self, hole):
        """Gives a hint for that hole, or for the first red one, or for the first TODO that is left,
        or for the stub's first hole that still has hints, but never for a hole that is right."""
        exercise = self._exercise
        todo = None
        hole = hole or self.first_red()
        if not hole:
            not_right = [each for each in exercise.holes() if each not in self._right()]
            if not not_right:
                print(f"The last check found no mistake in any {exercise.piece}, so there is no hint; --hint HOLE gives one anyway.")
                return
            todo = exercise.first_todo(not_right)
            if todo:
                hole = todo[0]
            else:
                holes = exercise.holes()
                of_one = f" (./ladder exercise {exercise.name} --hint HOLE for one of: {' '.join(holes)})" if len(holes) > 1 else ""
                print(f"No TODO is left in {exercise.mine}; these are the hints for its {exercise.piece}s, in order{of_one}.")
                hole = next((each for each in holes if self.given(each) < _HINTS_PER_HOLE), "")
                if not hole:
                    print("You have had all hints. From the first again:")
                    self.forget()
                    hole = holes[0]
        given = self.given(hole)
        if given >= _HINTS_PER_HOLE:
            print(f"There are no more hints for {exercise.piece} {hole}. From the first again:")
            given = 0
        write_whole(self._count(hole), f"{given + 1}\n")
        if todo:
            print(todo[1])
        title, text = self.texts(hole)[given]
        print(f"Hint {given + 1} for {exercise.piece} {hole}: {title}\n{text}", end="")
