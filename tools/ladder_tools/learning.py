"""./ladder learn, prepare and diff: the way through the lessons, what its exercises are built from, and one step of it."""
import datetime
import json
import re
import subprocess
import tempfile
from pathlib import Path

from ladder_tools.building import Build, say
from ladder_tools.place import ROOT, Failed, Refused, chapters, exercise_of, exercises, lessons, place_of

_SOLVED = Path("my") / ".solved.json"  # {"03.01_causal_dot_product": "2026-11-22"}


def solved():
    """{exercise: the day it was solved}"""
    try:
        found = json.loads((ROOT / _SOLVED).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def note_solved(name, is_solved=True):
    days = solved()
    days.pop(name, None)
    if is_solved:
        days[name] = datetime.date.today().isoformat()
    if days or (ROOT / _SOLVED).exists():
        (ROOT / _SOLVED).write_text(json.dumps(days, indent=1) + "\n")


def next_exercise(after=None):
    """The first exercise behind `after` that is not solved, else the first of all; None if all are."""
    done, names = solved(), [each.name for each in exercises()]
    later = [name for name in names if after is None or name > after]
    return next((name for name in later + names if name not in done), None)


def title_of(folder):
    """What the first line of the folder's page says: "one thread per output channel" of "# 03 cuda_baseline: one thread ...", "Chunk walk"
    of "# 07.02 Chunk walk"."""
    page = ROOT / folder / "README.md"
    first = page.read_text(errors="replace").partition("\n")[0] if page.exists() else ""
    return first.partition(": ")[2] or re.sub(r"^[#0-9. ]*", "", first)


def learn(words, preset, caller):
    """The path: chapters, lessons, which exercises are solved, and the next."""
    del preset, caller
    if words:
        raise Refused("learn takes no arguments")
    days = solved()
    by_folder = {str(each.folder): each for each in exercises()}
    for chapter in chapters():
        print(chapter)
        for folder in [chapter] + [f"{chapter}/{lesson}" for lesson in lessons(chapter)]:
            if folder == chapter and not list((ROOT / chapter).glob("kernel.*")):
                continue
            exercise = by_folder.get(folder)
            mark = "   " if exercise is None else "[x]" if exercise.name in days else "[ ]"
            name = exercise.name if exercise else folder.replace(chapter, chapter[:2]).replace("/", ".")
            print(f"  {mark} {name:<28} {title_of(folder)}")
    following = next_exercise()
    print(f"\n{sum(each.name in days for each in by_folder.values())} of {len(by_folder)} exercises are solved.")
    if following:
        print(f"Next: read {exercise_of(following).folder}/README.md, then ./ladder exercise {following}  (--watch checks whenever you save)")
    else:
        print("You have climbed the whole ladder. Where to go from here: write a lesson of your own (docs/adding-a-chapter.md), or try to "
              "beat a kernel of chapter 07 or 08 (./ladder run 07 --all).")
    return 0


def prepare(words, preset, caller):
    """Builds ahead what the exercises of these lessons are linked with; all without words."""
    del caller
    chosen = []
    for word in words:
        place = place_of(word)
        inside = [each for each in exercises() if each.folder.parts[0] == place.chapter
                  and (place.lesson is None or str(each.folder) == place.folder)]
        if not inside:
            raise Refused(f"lesson is '{word}'; allowed: {' '.join(each.name for each in exercises())}, or their chapters")
        chosen += inside
    build = Build(preset)
    build.prepare()
    targets = [f"stub.{each.name}.kernel" for each in chosen or exercises()]
    if build.has_xray() and any(each.needs_device for each in chosen or exercises()):
        targets.append("ladder_xray_testing")
    build.build(*targets)
    say(f"{len(targets)} programs and libraries are built: the first ./ladder exercise of each lesson compiles your file and its tests only")
    return 0


def _kernel_of(word):
    place = place_of(word)
    for suffix in (".cu", ".cpp"):
        found = ROOT / place.folder / f"kernel{suffix}"
        if found.exists():
            return found
    raise Refused(f"lesson is '{word}'; allowed: chapters and lessons that have a kernel.cu or kernel.cpp, such as 03 or 07.02")


_OWN_NAMES = re.compile(r'\.name = "([a-z0-9_]+)"|^namespace (chapter[0-9]{2})|\.chapter = "([0-9]{2}_[a-z0-9_]+)"', re.MULTILINE)


def with_names_of(text, other):
    """`text` with its namespace, its chapter and its implementation called as in `other`: a step's names are not its idea."""
    def names(source):
        found = {}
        for match in _OWN_NAMES.finditer(source):
            found.setdefault(match.lastindex, match[match.lastindex])
        return found

    ours, theirs = names(text), names(other)
    for kind, name in ours.items():
        if kind in theirs:
            text = re.sub(rf"\b{re.escape(name)}\b", theirs[kind], text)
    if 2 in ours and 2 in theirs:  # "chapter 03 takes no ..."
        text = text.replace(f"chapter {ours[2][-2:]}", f"chapter {theirs[2][-2:]}")
    return text


def diff(words, preset, caller):
    """The words that change from one lesson's kernel to another's."""
    del preset, caller
    if len(words) != 2:
        raise Refused("diff takes two chapters or lessons, such as 03 04")
    before, after = map(_kernel_of, words)
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for path, text in ((before, with_names_of(before.read_text(), after.read_text())), (after, after.read_text())):
            side = Path(folder) / path.relative_to(ROOT)
            side.parent.mkdir(parents=True, exist_ok=True)
            side.write_text(text)
            sides.append(side.relative_to(folder))
        command = ["git", "diff", "--no-index", "--no-prefix", "--word-diff", "--unified=2", *sides]
        try:
            done = subprocess.run(command, cwd=folder)
        except FileNotFoundError:
            raise Failed("git is not installed, and diff needs it") from None
    if done.returncode == 0:
        print(f"{before.relative_to(ROOT)} and {after.relative_to(ROOT)} differ in names only")
    return 0 if done.returncode < 2 else 1


_OF_A_GPU = "docs/results/h200_*.json"


def recorded_step(exercise):
    """What this step and the one before took on a GPU, in one line, from one file of docs/results; "" if no file has both."""
    def name_of(one):
        found = re.search(r'\.name = "([a-z0-9_]+)"', (ROOT / one.solution).read_text())
        return found[1] if found else ""

    before = [each for each in exercises() if each.name < exercise.name]
    if not before:
        return ""
    ours, theirs = name_of(exercise), name_of(before[-1])
    for path in sorted(ROOT.glob(_OF_A_GPU), key=lambda path: ("training" not in path.name, path.name)):
        document = json.loads(path.read_text())
        seconds = {row["implementation"]: row["seconds"] for row in document.get("rows", []) if row.get("seconds")}
        if ours in seconds and theirs in seconds:
            sizes = ", ".join(f"{name}={value}" for name, value in document["shape"].items())
            return (f"On an H200, at {sizes}: {theirs} {1e3 * seconds[theirs]:.3g} ms, {ours} {1e3 * seconds[ours]:.3g} ms "
                    f"({path.relative_to(ROOT)}).")
    return ""
