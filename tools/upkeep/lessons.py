"""Collects from a lesson's page what other pages show: its name (the heading), its minutes ("*Plan
45 minutes"), what it teaches ("**In short**: ..."), its holes (the exercise), and whether it is a
reference ("*Reference: ..."). Also the paths of docs/paths.txt for the front page."""
import posixpath
import re

import nvcc  # finds ladder_tools
import steps
from ladder_tools import learning, place
from ladder_tools.learning import is_reference, lessons_of, minutes_of, title_of

_WAY = re.compile(r"^\[chapter[^\]]*\]\(\.\./README\.md\).*$", re.MULTILINE)


def _numbered(chapter, first="", last="~"):
    """[("07.02", "02_chunk_walk"), ...] of a chapter, or of its lessons from one number to
    another."""
    return [(f"{chapter[:2]}.{lesson.partition('_')[0]}", lesson) for lesson in place.lessons(chapter) if first <= lesson.partition("_")[0] <= last]


def _name(folder):
    """"Chunk walk" """
    return re.sub(r"^# (?:[0-9][0-9.]*[a-z]? )?", "", place.text_of(f"{folder}/README.md").partition("\n")[0]).partition(": ")[0]


def _in_short(chapter, lesson):
    """The lesson's summary, with links as seen from the chapter's page."""
    found = re.search(r"^\*\*In short\*\*: (.+)\.$", place.text_of(f"{chapter}/{lesson}/README.md"), re.MULTILINE)
    return re.sub(r"\]\((?![a-z]+:)([^)]+)\)", lambda link: f"]({posixpath.normpath(posixpath.join(lesson, link[1]))})", found[1]) if found else ""


def _minutes_cell(folder):
    minutes, reference = minutes_of(folder), is_reference(place.text_of(f"{folder}/README.md"))
    return ", ".join(["reference"] * reference + [str(minutes)] * bool(minutes))


def exercise(folder):
    """The exercise's holes, "holes 1, 2", or "" without an exercise."""
    found = next((each for each in place.exercises() if str(each.folder) == folder), None)
    if found is None:
        return ""
    if found.begins_with:
        return f"your own {place.lesson_of(found.begins_with.parent)}, changed"
    return f"hole{'s' * (len(found.holes()) > 1)} {', '.join(sorted(found.holes()))}"


def rows(chapter, first="", last="~"):
    """Rows of the chapter's table: lesson, what it teaches, exercise, minutes."""
    cells = [(f"[{number[3:]} {_name(f'{chapter}/{lesson}')}]({lesson}/README.md)", _in_short(chapter, lesson), exercise(f"{chapter}/{lesson}"),
              _minutes_cell(f"{chapter}/{lesson}")) for number, lesson in _numbered(chapter, first, last)]
    return ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in cells]


def refusals(chapter):
    """Rows for the chapter's kernels whose suites list refusals or storages: lesson, storages,
    refusals, the kernel header's needs. The suite tests each refusal. Links are as seen from any
    page one folder below the front page."""
    found = []
    for folder in lessons_of(chapter):
        suite, kernel = ("".join(place.text_of(f"{folder}/{name}") for name in names) for names in (("test.cpp", "sm90_test.cpp"), ("kernel.cu", "kernel_sm90.cu")))
        needs = re.search(r"^// Needs: +((?:.*\n//   +)*.*)$", kernel, re.MULTILINE)
        if "register_suite" not in suite or needs is None:
            continue
        listed = [re.search(rf"\.{word} = {{([^}}]*)}}", suite) for word in ("storages", "refuses")]
        storages, refused = (", ".join(re.findall('"(.*?)"', each[1])) if each else "" for each in listed)
        needed = " ".join(re.sub("^// +", "", line) for line in needs[1].split("\n")).rstrip(".")
        number = place.lesson_of(folder).partition("_")[0].partition(".")[2] or "00"
        cells = [f"[{number}](../{folder}/README.md)", storages or "fp32", refused, needed]
        found.append("|" + "".join(f" {cell} |" if cell else " |" for cell in cells))
    return found


def count(what):
    """The number of lessons of a chapter, or of all."""
    return sum(len(lessons_of(chapter)) for chapter in place.chapters() if what in (chapter, "all"))


def minutes(chapter, first="", last="~"):
    """The minutes of these lessons together. The chapter's own folder is its lesson 00, if it has a
    kernel."""
    own = [chapter] if first <= "00" and chapter in lessons_of(chapter) else []
    return sum(map(minutes_of, own + [f"{chapter}/{lesson}" for _, lesson in _numbered(chapter, first, last)]))


def hours(what, *part):
    """The hours of a chapter, or of its lessons from one number to another; of a path; of "all"."""
    if what == "all":
        return learning.hours(sum(map(minutes, place.chapters())))
    if what in learning.paths():
        return learning.hours(sum(map(minutes_of, learning.folders_of(what))))
    return learning.hours(minutes(what, *part))


def needs(lesson, folder):
    """[("00.06", "06"), ...]: at least one of each tuple must come before the lesson on every path.
    They come from the lines "LESSON needs LESSON LESSON/LESSON" of docs/paths.txt, and from the
    lesson whose kernel this one changes."""
    line = re.search(rf"^{re.escape(lesson)} needs (.*)$", place.text_of(learning.PATHS), re.MULTILINE)
    found = [tuple(word.split("/")) for word in line[1].split()] if line else []
    for path in (place.ROOT / folder).glob("kernel*.c*"):
        kernel = path.relative_to(place.ROOT)
        named = steps.lesson_named_by(kernel)
        if named and "rewrite" not in steps.head_of(kernel)[1]:
            found.append((named.removesuffix(".00"),))
    return found


def faults_of_path(name):
    """A sentence for each lesson of the path that does not exist, comes twice, or comes before a
    lesson that it needs."""
    before, wrong = [], []
    for lesson, folder in zip(learning.paths()[name], learning.folders_of(name)):
        if folder not in lessons_of(folder.partition("/")[0]):
            wrong.append(f"path {name}: {lesson} has no kernel of its own")
        if lesson in before:
            wrong.append(f"path {name}: {lesson} comes twice")
        wrong += [f"path {name}: {lesson} needs {' or '.join(either)} before it" for either in needs(lesson, folder) if not set(either) & set(before)]
        before.append(lesson)
    return wrong


def path(name):
    """The lessons of a path, as "00.01, 00.12a–00.15c, 03, 04". Three or more consecutive lessons
    of a chapter are a range, and so are chapters."""
    try:
        wrong = faults_of_path(name)
    except place.Refused as refusal:
        wrong = [f"docs/paths.txt: {refusal}"]
    if wrong:
        raise ValueError("\n".join(wrong))
    orders = [place.chapters(), *([f"{chapter}/{each}" for each in place.lessons(chapter)] for chapter in place.chapters())]
    following, runs = {pair for order in orders for pair in zip(order, order[1:])}, []
    for folder in learning.folders_of(name):
        if runs and (runs[-1][-1], folder) in following:
            runs[-1].append(folder)
        else:
            runs.append([folder])
    names = [[place.lesson_of(folder).partition("_")[0] for folder in run] for run in runs]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(run) for run in names)


def with_way(page, text):
    """A lesson's page with the line that leads to its chapter and to the previous and the next
    lesson."""
    chapter, lesson = page.parts[0], page.parts[1]
    way = [f"[{number} {_name(f'{chapter}/{each}')}](../{each}/README.md)" for number, each in _numbered(chapter)]
    if chapter in lessons_of(chapter):
        way.insert(0, f"[{chapter[:2]}.00 {title_of(chapter)}](../README.md)")
    here = next(at for at, step in enumerate(way) if f"](../{lesson}/" in step)
    parts = [f"[chapter {chapter[:2]}](../README.md)"]
    parts += [f"previous: {way[here - 1]}"] * (here > 0)
    parts += [f"next: {way[here + 1]}" if here + 1 < len(way) else "the chapter's last lesson"]
    return _WAY.sub(lambda _: " · ".join(parts), text, count=1)


def numbers():
    """The tree's numbers of exercises, holes, kernels from scratch, bosses and planted mistakes."""
    found = place.exercises()
    return {"exercises": len(found), "holes": sum(len(each.holes()) for each in found), "kernels from scratch": len(place.exercises("scratch")),
            "bosses": len(place.bosses()), "planted mistakes": len(place.mistakes())}
