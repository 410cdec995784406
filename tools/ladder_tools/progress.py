"""What the checks of ./ladder exercise leave behind for ./ladder learn --json and ./ladder room:
how many there were, the last one's result, and the mistakes by name. Nothing else is kept, and
nothing is sent."""
import contextlib
import datetime
import fcntl
import json
import re
import sys
from pathlib import Path

from ladder_tools.place import ROOT, write_whole

CHECKS = Path("my") / ".checks.json"
_NAMED = re.compile(r"\bequals the \S.*\.$")
_XRAY = re.compile(r"^X-ray: ([a-z][a-z -]+): ")
_WHERE = re.compile(r"^(?:In the emulator|On the CPU|On the GPU): (.*)")
_PLACE = re.compile(r"(?:at )?\S+\.(?:cu|cpp|hpp|h):[0-9]+:? ?")  # differs from person to person
_MAP_ROW = re.compile(r"^[.x]+$")


def mistake_in(text):
    """The mistake that a check's output names, in few words, so that the same mistake of two people
    has the same words; "" if the output names none, such as "hole 2 is empty"."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    where = [_PLACE.sub("", found[1]) for found in map(_WHERE.match, lines) if found]
    wrong = any(line.startswith("WRONG RESULT") for line in where)
    if any("does not compile. Fix" in line for line in lines):
        return "It does not compile."
    for line in lines:
        if _NAMED.search(line):
            return "It " + line[_NAMED.search(line).start() :]
    for line in where:
        said = line.partition("WRONG RESULT: ")[2]
        if said and not said.startswith(
            ("first bad element", "Holes ", "Hole ", "Stages ", "Stage ")
        ):
            return said
    for line in lines:
        found = _XRAY.match(line)
        if found and not found[1].startswith("budget"):
            return f"The X-ray finds: {found[1]}."
    if wrong:
        if any(line.startswith("is NaN: ") for line in lines):
            return "A result is NaN."
        after = lines[next(at for at, line in enumerate(lines) if "WRONG RESULT" in line) + 1 :]
        said = next(
            (
                line
                for line in after
                if line.endswith(".")
                and not _MAP_ROW.match(line)
                and not line.startswith(("Next: ", "A hint: ", "First difference"))
            ),
            "",
        )
        return said or "A wrong result without a name."
    if any(
        line.startswith("Right, but over budget") or line.endswith("<- too many") for line in lines
    ):
        return "It is over budget."
    if any("nvcc rejects" in line for line in lines):
        return "nvcc rejects it."
    ended = [
        line
        for line in where
        if not re.match(r"[0-9]+ of [0-9]+ tests pass|the filled |compiled, but", line)
    ]
    return ended[0].partition(". ")[0].rstrip(".") + "." if ended else ""


def noted_in(path):
    """The object in a file of my/; {} if it has none."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def checks(folder=None):
    """{exercise: {"checks": 3, "last": {"when", "solved", "mistake", "hole"}, "mistakes": {words:
    count}}}"""
    return noted_in((folder or ROOT / "my") / CHECKS.name)


def note_check(name, text, is_solved, hole=""):
    """Notes one check of the exercise, whose output is `text`."""
    path = ROOT / CHECKS
    if not path.parent.exists():
        return
    with open(path.with_suffix(".lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another terminal may note something too
        known = checks()
        before = known.get(name)
        kept = before if isinstance(before, dict) else {}
        mistake = "" if is_solved else mistake_in(text)
        mistakes = dict(kept.get("mistakes", {}))
        if mistake:
            mistakes[mistake] = mistakes.get(mistake, 0) + 1
        known[name] = {
            "checks": kept.get("checks", 0) + 1,
            "last": {
                "when": datetime.datetime.now().isoformat(timespec="seconds"),
                "solved": is_solved,
                "mistake": mistake,
                "hole": "" if is_solved else hole,
            },
            "mistakes": mistakes,
        }
        write_whole(path, json.dumps(known, indent=1) + "\n")


class _Heard:
    """An output that also keeps what is printed."""

    def __init__(self, out):
        self._out, self.text = out, ""

    def write(self, text):
        self.text += text
        return self._out.write(text)

    def __getattr__(self, name):
        return getattr(self._out, name)


@contextlib.contextmanager
def heard():
    """Gives an object whose `text` is what the block has printed."""
    out = _Heard(sys.stdout)
    with contextlib.redirect_stdout(out):
        yield out
