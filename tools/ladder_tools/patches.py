"""Applies patches to kernels, reads their headers, and finds the lines of a kernel that its stub
lacks."""
import difflib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ladder_tools.place import ROOT, Failed, registered_names, text_of


def patched(kernel, patch, root=ROOT):
    """The kernel's text with the patch applied. Raises ValueError if it does not fit."""
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
    """The text of a patch's line "# WORD: ...", or ""."""
    found = re.search(rf"^# {word}: (.+)$", patch, re.MULTILINE)
    return found[1] if found else ""


def hole_of(exercise, patch, root=ROOT):
    """The hole whose lines of the kernel the patch changes; "" if there is none, or if it changes
    another file."""
    if f"+++ b/{exercise.solution}\n" not in (root / patch).read_text():
        return ""
    kernel, stub = ((root / path).read_text().splitlines() for path in (exercise.solution, exercise.stub))
    stub = [line for line in stub if not until(line)]
    changed = {at for at, to, _ in changes(kernel, patched(exercise.solution, patch, root).splitlines()) for at in range(at, max(to, at + 1))}
    for at, to, instead in changes(kernel, stub):
        todo = re.search(r"TODO\(([0-9]+)\)", "\n".join(instead))
        if todo and changed & set(range(at, to)):
            return todo[1]
    return ""


def changes(before, after):
    """[(first line, line after the last, the new lines)]"""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [(at, to, after[begin:end]) for kind, at, to, begin, end in matcher.get_opcodes() if kind != "equal"]


def between(before, after, old, new):
    """The patch from the text `before` of the file `old` to the text `after` of the file `new`."""
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{old}", f"b/{new}"))


def with_name_of(text, other):
    """`text` with the implementation's name of `other`, because a new name is not a change."""
    ours, theirs = registered_names(text), registered_names(other)
    return re.sub(rf"\b{ours[0]}\b", theirs[0], text) if ours and theirs else text


def under_head_of(head, text):
    """The lines of `text` after its first comment, under the first comment of `head` and with its
    implementation's name."""
    first = re.compile(r"(?://.*\n)*")
    return first.match(head)[0] + with_name_of(text[first.match(text).end():], head)


def holes_of(exercise):
    """The missing lines. An exercise that begins with the previous step's kernel has one hole: the
    lines that this lesson's kernel has instead."""
    stub, kernel = exercise.text, text_of(exercise.solution)
    if exercise.begins_with:
        before = under_head_of(kernel, text_of(exercise.begins_with)).splitlines()
        lines, done = [], 0
        for at, to, instead in changes(before, kernel.splitlines()):
            lines += before[done:at] + [f"// TODO(1): roughly {len(instead)} lines"] * bool(instead)
            done = to
        stub = "\n".join(lines + before[done:]) + "\n"
    return Holes(stub, kernel)


def fault_of(exercise):
    """A sentence if the stub is not today's kernel without the lines at its TODOs, otherwise ""."""
    try:
        stub = exercise.text
    except Failed as stale:
        return str(stale)
    if exercise.begins_with:
        same = stub == under_head_of(stub, text_of(exercise.begins_with))
        return "" if same else f"{exercise.stub} is not {exercise.begins_with} under a comment and a name of its own"
    ours = text_of(exercise.solution).splitlines()
    marked = next(filter(until, ours), None)
    if marked:
        return f"{exercise.solution} is the solution, but this line belongs in a stub: {marked.strip()}"
    kernel = iter(ours)
    lines = [line for line in stub.splitlines() if not _TODO.search(line) and not until(line)]
    # `in` searches after the line that it found last
    gone = next((line for line in lines if line not in kernel), None)
    if gone is not None:
        return f"solving {exercise.stub} must only add lines to reach {exercise.solution}; this line disappears: {gone.strip()}"
    try:
        holes_of(exercise)
    except Unplaced as error:
        return f"{exercise.stub}: {error}"
    except ValueError as error:
        return f"{exercise.stub}: {error}, and {exercise.solution} has others"
    return ""


_ALIKE = 0.7  # difflib's ratio between a line and its changed version
_TODO = re.compile(r"TODO\(([0-9]+)\)")
# A line that lets the stub compile until its hole is filled: "float v = 0.0f;  // until hole 1 is
# filled".
_UNTIL = re.compile(r"\S +// until (?:hole|stage) ([0-9]+) is filled$")


class Unplaced(ValueError):
    """A stub's line goes with a hole that is not at this line."""


def until(line):
    """The number of the hole with which the line goes, or ""."""
    found = _UNTIL.search(line)
    return found[1] if found and is_code(line) else ""


def without_lines_of(hole, text):
    """A stub's lines without those that go when the hole is filled."""
    return [line for line in text.splitlines() if until(line) != hole]


def _bare(line):
    """The line without blanks."""
    return "".join(line.split())


def _without_comment(line):
    return _bare(line.partition("//")[0])


def _with_braces_behind(text):
    """The text with each brace on a line of its own moved to the end of the previous line, which
    leaves an empty line."""
    return re.sub(r"^(?!.*//)( *[^\s#].*[^\s;{}])[ ]*\n[ ]*\{[ ]*$", r"\1 {\n", text, flags=re.MULTILINE)


def _code(line):
    """The line without its TODO."""
    return line.partition("//")[0].rstrip() if _TODO.search(line) else line


def _numbered(text):
    """Its lines with their numbers, without lines that are only a TODO."""
    return [(number, _code(line)) for number, line in enumerate(text.splitlines(), 1) if not _TODO.search(line) or is_code(line)]


def _likeness(line, other):
    return difflib.SequenceMatcher(None, _bare(line), _bare(other), autojunk=False).ratio()


def same_code(text, other):
    """Whether two texts differ only in blanks, line breaks and comments."""
    return len({"".join(map(_without_comment, each.splitlines())) for each in (text, other)}) == 1


def is_code(line):
    return bool(_bare(line)) and not _bare(line).startswith("//")


def not_as_ours(places, ours, most=3):
    """The numbers of a learner's lines that differ from ours, for the places of a hole, and "after
    line 7" where a line of ours is missing. Blanks and comments do not count. Empty if too many
    lines differ."""
    differ, left_out, alike, lacks = [], [], 0, 0
    for lines, theirs in zip(places, ours):
        mine = [(number, _without_comment(line)) for number, line in lines if _without_comment(line)]
        theirs = [form for form in map(_without_comment, theirs) if form]
        before = len(differ)
        for kind, at, to, _, _ in difflib.SequenceMatcher(None, [form for _, form in mine], theirs, autojunk=False).get_opcodes():
            if kind in ("replace", "delete"):
                differ += [number for number, _ in mine[at:to]]
            elif kind == "insert":
                left_out.append(f"after line {mine[at - 1][0]}" if at else f"before line {mine[0][0]}" if mine else "elsewhere")
        same = len(mine) - (len(differ) - before)
        alike, lacks = alike + same, lacks + len(theirs) - same
    return (differ, left_out) if max(len(differ) + len(left_out), lacks) <= min(most, alike) else ([], [])


def first_out_of_order(places, ours):
    """The first line out of order, if a hole's lines are ours in another order; otherwise None."""
    first = None
    for lines, theirs in zip(places, ours):
        mine = [(number, _without_comment(line)) for number, line in lines if _without_comment(line)]
        theirs = [form for form in map(_without_comment, theirs) if form]
        if sorted(form for _, form in mine) != sorted(theirs):
            return None
        first = first or next((number for (number, form), its in zip(mine, theirs) if form != its), None)
    return first


def without_aside(text, written):
    """The learner's text with the stub's lines restored outside the holes."""
    lines = text.splitlines()
    for number, _, stubs in written.aside:
        lines[number - 1] = stubs
    return "\n".join(lines) + "\n"


def put_back(text, ours, lacks):
    """The learner's text with a line of the stub back where it belongs and nowhere else; and
    whether it was elsewhere. `lacks` is an entry of Written's `aside`."""
    lines, (number, line, stubs) = text.splitlines(), lacks
    code = [_without_comment(each) for each in lines]
    wanted = _without_comment(stubs)
    moved = code.count(wanted) >= list(map(_without_comment, ours.splitlines())).count(wanted)
    if moved:
        elsewhere = min((at for at, each in enumerate(code) if each == wanted), key=lambda at: abs(at + 1 - number))
        lines[elsewhere] = ""
    lines[number - 1] = stubs if line else f"{stubs}\n{lines[number - 1]}"
    return "\n".join(lines) + "\n", moved


def with_a_line_back(text, ours, written, holes):
    """The learner's lines sorted by hole although a line of the stub was changed; None if other
    lines prevent it too, or if the line was moved."""
    lacks = next(iter(written.aside), None)
    if not lacks or not lacks[1]:
        return None
    restored, moved = put_back(text, ours, lacks)
    sorted_lines = holes.of(restored)
    return None if moved or sorted_lines.holes is None else sorted_lines


class Written:
    """A learner's lines, sorted by hole. A line that goes with a hole belongs to it while there.
    holes    {hole: its lines, for each of its places}; None if the lines cannot be attributed
    numbers  {hole: the numbers of these lines, for each of its places}
    outside  {line of the stub: lines of code that were added before it, where there is no TODO}
    instead  {line of the stub: the line that it was changed to}
    aside    (number, line, the stub's line or "") of the code in `outside` and `instead`
    alone    (number of its first line of code, its `outside`, its `instead`) of each such place
    why      a sentence, if `holes` is None"""

    def __init__(self, holes=None, numbers=None, outside=None, why="", given=None, instead=None, aside=(), alone=()):
        self.holes, self.numbers, self.outside, self.why, self._given = holes, numbers or {}, outside or {}, why, given or {}
        self.instead, self.aside, self.alone = instead or {}, aside, alone

    def begun(self, hole):
        """Whether the hole has a line of code that is not in the stub."""
        return any(is_code(line) and _bare(line) not in self._given.get(hole, ()) for part in (self.holes or {}).get(hole, []) for line in part)

    def left(self, hole):
        """(number, line) of the lines that should go because the hole is begun."""
        given = self._given.get(hole, ())
        return [(number, line) for part in self.numbered(hole) for number, line in part if _bare(line) in given] if self.begun(hole) else []

    def numbered(self, hole):
        """The lines of the hole's places, each with its number."""
        return [list(zip(*each)) for each in zip(self.numbers.get(hole, []), (self.holes or {}).get(hole, []))]


class Holes:
    """A stub's text, and which lines are missing where. A hole's TODO is where its lines belong. A
    TODO that mentions places, or "somewhere", also has our kernel's lines that are at no TODO.
    Adjacent TODOs each take as many lines as they give. Lines next to a TODO may go with its hole;
    our kernel does not have them."""

    def __init__(self, stub, kernel):
        # todos: {line of fixed: {hole: its number of lines}}
        self._fixed, todos, spread = [], {}, None
        go = []  # (line of fixed, hole, the line that goes)
        for line in stub.splitlines():
            todo = _TODO.search(line)
            if until(line):
                go.append((len(self._fixed), until(line), line))
                continue
            if not todo:
                self._fixed.append(line)
                continue
            at_once = todos.setdefault(len(self._fixed), {})
            roughly = re.search("roughly ([0-9]+)", line)
            at_once.setdefault(todo[1], int(roughly[1]) if roughly else 0)
            if re.search(r"\bat [a-z]+ places|\bsomewhere\b", line):
                spread = todo[1]
            if is_code(line):
                go.append((len(self._fixed), todo[1], _code(line)))
        for at, hole, line in go:
            if hole not in todos.get(at, {}):
                raise Unplaced(f"`{line.strip()}` is not next to a TODO({hole})")
        self._given = {}
        for _, hole, line in go:
            self._given.setdefault(hole, set()).add(_bare(line))
        self.places = []  # (line of fixed, hole, our lines), in order
        ours, lacks = self._added(kernel, todos)
        ours = {at: [line for _, line in lines] for at, lines in ours.items()}
        if lacks or any(at not in todos for at in ours) and spread is None:
            raise ValueError("solving it must only add lines at its TODOs")
        for at in sorted(todos.keys() | ours.keys()):
            lines, holes = ours.get(at, []), todos.get(at, {spread: 0})
            for last, (hole, roughly) in enumerate(holes.items(), 1):
                some = len(lines) if last == len(holes) else roughly
                self.places.append((at, hole, lines[:some]))
                lines = lines[some:]

    def _added(self, text, preferred, form=str):
        """({line of fixed: the text's lines before it, each with its number}, the first lack).
        Where equal lines leave a choice, preferred lines win. The lack is (number, line, the stub's
        line) for the first line of code that the text does not have; without a replacement, the
        line is "" and the number is the next line's. Lines are equal if their forms are."""
        numbered = _numbered(text)
        fixed, lines, found, lacks = [form(line) for line in self._fixed], [form(line) for _, line in numbered], {}, None
        for kind, at, to, begin, end in difflib.SequenceMatcher(None, fixed, lines, autojunk=False).get_opcodes():
            if kind == "equal":
                continue
            lost = [line.strip() for line in self._fixed[at:to] if form is str or is_code(line)]
            if lost and not lacks:
                lacks = (*max((each for each in numbered[begin:end] if is_code(each[1])), key=lambda each: _likeness(each[1], lost[0]),
                              default=((numbered[begin:] or numbered[-1:] or [(1, "")])[0][0], "")), lost[0])
            formed = lines[begin:end]
            at = next((each for each in range(at, to + 1) if each in preferred), at)
            for step in range(len(formed) + 1):
                down = fixed[at:at + step] == formed[:step] and step
                up = step <= at and fixed[at - step:at] == formed[len(formed) - step:] and -step
                slide = next((each for each in (down, up) if each is not False and at + each in preferred), None)
                if slide is not None:
                    at, begin, end = at + slide, begin + slide, end + slide
                    break
            found[at] = found.get(at, []) + numbered[begin:end]
        return found, lacks

    def numbers(self):
        return list(dict.fromkeys(hole for _, hole, _ in self.places))

    def ours(self, hole):
        """Our lines, for each of the hole's places."""
        return [lines for _, number, lines in self.places if number == hole]

    def of(self, text):
        """Sorts the text's lines into a Written. Outside the holes, blanks, comments, braces on
        lines of their own and renamed variables do not count; lines are returned with our names."""
        text = _with_braces_behind(text)
        written = self._of(text)
        named = written.aside and written.holes is not None and self._with_our_names(text, written)
        with_ours = named and self._of(named)
        return with_ours if with_ours and with_ours.holes is not None and not with_ours.aside else written

    def _with_our_names(self, text, written):
        """The text with the stub's names instead of the learner's; "" if lines outside the holes
        differ in more than names."""
        names, words = {}, re.compile(r"\w+|[^\w\s]")
        for _, line, stubs in written.aside:
            mine, theirs = words.findall(line.partition("//")[0]), words.findall(stubs.partition("//")[0])
            if len(mine) != len(theirs) or any(names.setdefault(new, old) != old for new, old in zip(mine, theirs)):
                return ""
        names = {new: old for new, old in names.items() if new != old}
        known = set(words.findall("\n".join([*self._fixed, *(line for _, _, lines in self.places for line in lines)])))
        used = set(words.findall("\n".join(line for parts in written.holes.values() for part in parts for line in part)))
        declared = "\n".join(stubs for _, _, stubs in written.aside)
        if not all(re.search(rf"(?<!return)(?<=[\w>*&]) {re.escape(old)}(?= =|[;,)\[{{]| :)", declared) for old in names.values()):
            return ""  # another function or member is not just another name
        if len(set(names.values())) < len(names) or names.keys() & known or set(names.values()) & used or not all(map(str.isidentifier, names)):
            return ""
        return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)

    def _of(self, text):
        at_places = {at for at, _, _ in self.places}
        added, lacks = self._added(text, at_places)
        if lacks:
            added, lacks = self._added(text, at_places, _bare)
        instead, aside = {}, []
        if lacks:
            instead, text = self._changed(text, at_places)
            # A changed comment is not a fault.
            aside = [(number, line, self._fixed[at]) for at, (number, line) in instead.items() if _without_comment(line) != _without_comment(self._fixed[at])]
            added, still = self._added(text, at_places, _bare)
            lacks = lacks if still or not instead else None
        if lacks:
            number, line, stubs = lacks
            return Written(why=f"{f'line {number} is `{line.strip()}`' if line else 'nothing is left'} where the stub has `{stubs}`", aside=[lacks])
        numbers = {at: [number for number, _ in lines] for at, lines in added.items()}
        added = {at: [line for _, line in lines] for at, lines in added.items()}
        found, of_found = ({hole: [] for hole in self.numbers()} for _ in range(2))
        for at, hole, _ in self.places:
            beside = {number for place, number, _ in self.places if place == at}
            given = set().union(*(self._given.get(each, ()) for each in beside))
            if any(is_code(line) and _bare(line) not in given for line in added.get(at, [])) and beside != {hole}:
                return Written(why=f"the lines of holes {' and '.join(sorted(beside))} are next to each other without a TODO between them")
            found[hole].append([] if len(beside) > 1 else added.get(at, []))
            of_found[hole].append([] if len(beside) > 1 else numbers.get(at, []))
        outside = {at: lines for at, lines in added.items() if at not in at_places and any(map(is_code, lines))}
        aside += [(number, line, "") for at in outside for number, line in zip(numbers[at], outside[at]) if is_code(line)]
        alone = [(number, {}, {at: line}) for at, (number, line) in instead.items()]
        alone += [(next(number for number, line in zip(numbers[at], lines) if is_code(line)), {at: lines}, {}) for at, lines in outside.items()]
        return Written(found, of_found, outside, given=self._given, instead={at: line for at, (_, line) in instead.items()}, aside=sorted(aside), alone=alone)

    def _changed(self, text, at_places):
        """{line of fixed: (number, the text's line instead)}, if lines were changed one for one and
        no hole is next to them, or if they are similar; and the text with the stub's lines
        there."""
        numbered = _numbered(text)
        matcher = difflib.SequenceMatcher(None, list(map(_bare, self._fixed)), [_bare(line) for _, line in numbered], autojunk=False)
        found = {}
        for kind, at, to, begin, end in matcher.get_opcodes():
            if kind == "replace" and to - at == end - begin and not at_places & set(range(at, to + 1)):
                found.update({at + n: numbered[begin + n] for n in range(to - at)})
            elif kind == "replace":
                for line in range(at, to):
                    alike = [_likeness(self._fixed[line], each) for _, each in numbered[begin:end]]
                    if max(alike, default=0) >= _ALIKE:
                        begin += alike.index(max(alike))
                        found[line] = numbered[begin]
                        begin += 1
        lines = text.splitlines()
        for at, (number, _) in found.items():
            lines[number - 1] = self._fixed[at]
        return found, "\n".join(lines) + "\n"

    def with_lines_of(self, written, hole=None):
        """Our kernel with the learner's lines in this hole, and with all changes outside the
        holes."""
        return self.filled(hole, written.holes[hole] if hole else [], written.outside, written.instead)[0]

    def with_each_aside(self, written):
        """(its (number, line, the stub's line), our kernel with this change only) of the changes
        outside the holes. Lines added at one place count as one change."""
        given = {number: (outside, instead) for number, outside, instead in written.alone}
        return [(each, self.filled(None, [], *given[each[0]])[0]) for each in written.aside if each[0] in given]

    def with_ours_in(self, text, written, hole):
        """The learner's text with our lines in this hole; "" if the learner has none at one of its
        places."""
        lines = text.splitlines()
        for numbers, ours in zip(written.numbers[hole], self.ours(hole)):
            if ours and not numbers:
                return ""
            for number in numbers:
                lines[number - 1] = None
            if numbers:
                lines[numbers[0] - 1] = "\n".join(ours)
        return "\n".join(line for line in lines if line is not None) + "\n"

    def filled(self, hole, parts, outside=None, instead=None):
        """Our kernel with these lines in one hole, and the first line number of each of its places.
        `outside` and `instead` are Written's."""
        lines, done, parts, begins, more, fixed = [], 0, list(parts), [], outside or {}, self._fixed.copy()
        for at, line in (instead or {}).items():
            fixed[at] = line
        for at, number, ours in [*self.places, (len(fixed), None, [])]:
            for line in range(done, at):
                lines += [*more.get(line, []), fixed[line]]
            done = at
            if number == hole:
                begins.append(len(lines) + 1)
                ours = parts.pop(0) if parts else []
            lines += ours
        lines += more.get(len(fixed), [])
        return "\n".join(lines) + "\n", begins
