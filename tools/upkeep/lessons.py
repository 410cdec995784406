"""What other pages say of a lesson is taken from its own: its name from the heading, its minutes from "*Plan 45 minutes", what it teaches from
"**In short**: ...", its holes from the exercise."""
import posixpath
import re

import nvcc  # finds ladder_tools
from ladder_tools import place
from ladder_tools.learning import minutes_of, title_of

_WAY = re.compile(r"^\[chapter[^\]]*\]\(\.\./README\.md\).*$", re.MULTILINE)


def _numbered(chapter, first="", last="~"):
    """[("07.02", "02_chunk_walk"), ...] of a chapter, or of its lessons from one number to another."""
    return [(f"{chapter[:2]}.{lesson.partition('_')[0]}", lesson) for lesson in place.lessons(chapter) if first <= lesson.partition("_")[0] <= last]


def _name(folder):
    """Chunk walk"""
    return re.sub(r"^# (?:[0-9][0-9.]*[a-z]? )?", "", place.text_of(f"{folder}/README.md").partition("\n")[0]).partition(": ")[0]


def _in_short(chapter, lesson):
    """With links as the chapter's page has them."""
    found = re.search(r"^\*\*In short\*\*: (.+)\.$", place.text_of(f"{chapter}/{lesson}/README.md"), re.MULTILINE)
    return re.sub(r"\]\((?![a-z]+:)([^)]+)\)", lambda link: f"]({posixpath.normpath(posixpath.join(lesson, link[1]))})", found[1]) if found else ""


def rows(chapter, first="", last="~"):
    """Of the chapter's table: lesson, what it teaches, exercise, minutes."""
    holes = {str(each.folder): f"your own {place.lesson_of(each.begins_with.parent)}, changed" if each.begins_with else
             f"hole{'s' * (len(each.holes()) > 1)} {', '.join(sorted(each.holes()))}" for each in place.exercises()}
    cells = [(f"[{number[3:]} {_name(f'{chapter}/{lesson}')}]({lesson}/README.md)", _in_short(chapter, lesson), holes.get(f"{chapter}/{lesson}", ""),
              minutes_of(f"{chapter}/{lesson}")) for number, lesson in _numbered(chapter, first, last)]
    return ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in cells]


def refusals(chapter):
    """Of the chapter's kernels whose suite says what is refused, or in which storages they compute: lesson, storages, what is refused, what the
    kernel's header needs. The suite asks for each refusal."""
    found = []
    for number, lesson in _numbered(chapter):
        folder = place.ROOT / chapter / lesson
        suite, kernel = place.text_of(folder / "test.cpp"), place.text_of(folder / "kernel.cu")
        needs = re.search(r"^// Needs: +((?:.*\n//   +)*.*)$", kernel, re.MULTILINE)
        if "register_suite" not in suite or needs is None:
            continue
        listed = [re.search(rf"\.{word} = {{([^}}]*)}}", suite) for word in ("storages", "refuses")]
        storages, refused = (", ".join(re.findall('"(.*?)"', each[1])) if each else "" for each in listed)
        needed = " ".join(re.sub("^// +", "", line) for line in needs[1].split("\n")).rstrip(".")
        cells = [f"[{number[3:]}]({lesson}/README.md)", storages or "fp32", refused, needed]
        found.append("|" + "".join(f" {cell} |" if cell else " |" for cell in cells))
    return found


def count(chapter):
    return len(place.lessons(chapter))


def minutes(chapter):
    """Of all lessons together."""
    return sum(int(re.match("[0-9]*", minutes_of(f"{chapter}/{lesson}"))[0] or 0) for _, lesson in _numbered(chapter))


def with_way(page, text):
    """A lesson's page with the line that leads to its chapter and to the lessons before and behind it."""
    chapter, lesson = page.parts[0], page.parts[1]
    steps = [f"[{number} {_name(f'{chapter}/{each}')}](../{each}/README.md)" for number, each in _numbered(chapter)]
    if list((place.ROOT / chapter).glob("kernel.c*")):
        steps.insert(0, f"[{chapter[:2]}.00 {title_of(chapter)}](../README.md)")
    here = next(at for at, step in enumerate(steps) if f"](../{lesson}/" in step)
    parts = [f"[chapter {chapter[:2]}](../README.md)"]
    parts += [f"previous: {steps[here - 1]}"] * (here > 0)
    parts += [f"next: {steps[here + 1]}" if here + 1 < len(steps) else "the chapter's last lesson"]
    return _WAY.sub(lambda _: " · ".join(parts), text, count=1)


def numbers():
    """How many there are of what a learner does, in the whole tree."""
    found = place.exercises()
    return {"exercises": len(found), "holes": sum(len(each.holes()) for each in found), "kernels from scratch": len(place.exercises("scratch")),
            "bosses": len(place.bosses()), "planted mistakes": len(place.mistakes())}
