"""Makes the recordings that the X-ray's player plays, and pages of them: for each lesson with an
xray_test.cpp its kernel's plain case, and its planted mistake that is marked "# played". A
recording is a script, out/recordings/NAME.js, of at most MOST_BYTES. It is made again only if a
file that it depends on has changed."""
import hashlib
import html
import json
import re
import tempfile
from collections import Counter
from pathlib import Path

from ladder_tools import gtest
from ladder_tools.building import Build, Progress, say
from ladder_tools.checking import words_of
from ladder_tools.learning import lesson_named_by
from ladder_tools.patches import changes, header
from ladder_tools.place import (MORE, ROOT, Failed, Refused, in_lessons, kernel_in, lesson_of,
                                number_of, place_of, registered_names, text_of, write_whole)

FOLDER = ROOT / "out" / "recordings"
MOST_BYTES = 60_000
_PLAYER = ROOT / "common" / "xray" / "player"
_SCRIPTS = ("model.js", "player.js", "banks.js")
_WITH_INDEX = ("00.16d", "07.09", "08.06")  # lessons about an index, which the reader types
_SECONDS = 60
_MOST_TESTS = 2  # that look for a mistake's error
_BEFORE, _AFTER = 14, 5  # lines of source that are shown around those that access memory
_MAKERS = ("common/xray", "common/testing", "common/emulator/src",
           "common/emulator/include/emulator")


def lessons_played():
    """The folders of all lessons with recordings, in reading order."""
    return [test.parent for test in in_lessons("xray_test.cpp")]


def lesson_number(folder):
    """07.09 for 07_chunkwise/09_ldmatrix_swizzle, 05 for 05_float4."""
    return ".".join(number_of(part) for part in Path(folder).parts)


def step_before(folder):
    """The folder of the lesson that the kernel's first comment names after Change:, if it has
    recordings; otherwise None."""
    named = lesson_named_by(kernel_in(Path(folder)))
    before = Path(place_of(named).folder) if named else None
    return before if before in lessons_played() else None


def played_mistake(folder):
    """(the patch with the line "# played", None) or, after "# played: in TEST", (it, the test in
    which the lesson's kernel and the mistake are played). (None, None) if a player would show
    nothing of the lesson's mistakes. add_played_mistake in cmake/MustFail.cmake reads the line,
    too."""
    for patch in sorted((ROOT / folder).glob(f"{MORE}/mistakes/*.patch")):
        mark = re.search(r"^# played(?:: in (\S+))?$", patch.read_text(), re.M)
        if mark:
            return patch, mark[1]
    return None, None


class Recording:
    """One block of a lesson's kernel, or of the kernel with its played mistake."""

    def __init__(self, folder, is_mistake=False):
        self.folder = Path(folder)
        self._marked, self._test = played_mistake(folder)
        self.patch = patch = self._marked if is_mistake else None
        self.lesson = lesson_of(folder)
        self.name = self.lesson + (".mistake" if patch else "")
        self.path = FOLDER / f"{self.name}.js"
        self.program = f"played.{self.lesson}" if patch else f"chapter{self.lesson}_xray_tests"

    def _files(self):
        """The lesson's sources with all that they include, the patch, and what records."""
        sources = (path for path in (ROOT / self.folder).glob("*.[ch]*")
                   if not path.name.startswith(("exercise", "test")))
        found, left = set(), [path.relative_to(ROOT) for path in sources]
        while left:
            file = left.pop()
            if file in found:
                continue
            found.add(file)
            names = re.findall(r'^ *#include "(.+)"', text_of(file), re.M)
            left += [each for name in names for each in (file.parent / name, Path(name))
                     if (ROOT / each).is_file()]
        makers = (path for room in _MAKERS for path in (ROOT / room).glob("*.[ch]pp"))
        return [*sorted(ROOT / file for file in found), *sorted(makers), Path(__file__),
                *filter(None, [self._marked if self._test else self.patch])]

    def key(self):
        digest = hashlib.sha256()
        for file in self._files():
            digest.update(f"{file.name}\n".encode() + file.read_bytes())
        return digest.hexdigest()[:16]

    def is_made(self, key):
        return text_of(self.path).startswith(f"// {key}\n")

    def is_empty(self):
        """Whether its program launches no kernel."""
        return text_of(self.path).endswith("= null;\n")

    def make(self, build, key):
        play = self._played(build.folder / self.program)
        text = fitted(self._shown(play, build)) if play else "null"
        right = text_of(FOLDER / f"{self.lesson}.js").partition(" = ")[2].removesuffix(";\n")
        if self.patch and not shows_a_mistake(json.loads(text), json.loads(right or "null")):
            raise Failed(f"{self.patch.relative_to(ROOT)} is marked as played, but its recording"
                         " has neither an error nor another access than the right kernel's; mark"
                         " another mistake, or none")
        FOLDER.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, f'// {key}\n(globalThis.xrayRecordings ??= {{}})["{self.name}"]'
                               f" = {text};\n")

    def _played(self, program):
        """The budget's test fills whole warps. For a mistake, the first test in which the X-ray
        finds an error; the budget's if it finds none."""
        names = registered_names(text_of(kernel_in(self.folder)))

        def rank(test):
            suite, _, name = test.partition(".")
            return suite not in names, name != "KeepsItsBudget", not name.startswith("StaysIn")

        first = None
        tests = [self._test] if self._test else sorted(gtest.names_of(program), key=rank)
        for test in tests[:_MOST_TESTS] if self.patch else tests:
            play = _run(program, test)
            first = first or play
            if play and (play["errors"] or not self.patch):
                return play
        return first

    def _shown(self, play, build):
        """The recording, with its source and words. Its files are named as the lesson's own."""
        planted = Path(build.name) / "played" / self.lesson
        own, copy = f"{planted}/", planted if self.patch else None
        lines = [at for line in play["lines"] for at in (line, *line.get("called_at", []))]
        parties = [error[party] for error in play["errors"] for party in ("party", "other")]
        for at in filter(None, [*lines, *parties]):
            at["file"] = at["file"].removeprefix(own)
        for line in play["lines"]:  # a launch calls no line of the kernel
            line["called_at"] = [at for at in line.get("called_at", [])
                                 if "<<<" not in line_of(at, copy)]
        for error in play["errors"]:
            error["message"] = error["message"].replace(own, "")
            for word in ("space", "buffer", "offset", "bytes", "size", "step"):
                error.pop(word)
        play["title"] = f"{lesson_number(self.folder)}: {play['kernel'].partition('<')[0]}"
        play["about"] = ""
        if self.patch:
            play["mistake"] = self.patch.stem
            play["title"] += " with a mistake"
            play["about"] = f"The mistake: {header(self.patch.read_text(), 'mistake')}. "
            if play["reported"] and not play["errors"]:
                report = play["reported"].replace(own, "").replace(f"{ROOT}/", "").rstrip(".")
                play["about"] += f"The X-ray finds no error. The test reports: {report}. "
        lines = [at for line in play["lines"] for at in (line, *line["called_at"])]
        play["source"] = source_of(lines, self.folder.parts[0], copy)
        del play["reported"]
        return play


def shows_a_mistake(play, right):
    """Whether a recording has an error, or shows other accesses than the right kernel's."""
    if not play or not right or play["errors"] or play["steps_of_block"] != right["steps_of_block"]:
        return bool(play)
    shown = min(len(each["steps"]) for each in (play, right))
    accesses = [Counter((line["operation"], line.get("array"), *map(str, (base, pattern)))
                        for line, base, pattern in _accesses(each, shown))
                for each in (play, right)]
    return accesses[0] != accesses[1]


def _accesses(play, shown):
    """The line, the first byte and the pattern of the accesses among the first steps."""
    for number, _, *rest in play["steps"][:shown]:
        line = play["lines"][number]
        if line.get("bytes"):
            yield line, rest[0], play["patterns"][rest[1]]


def _run(program, test):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "play.json"
        done = gtest.run(program, _SECONDS, test_filter=test, environment={
            "LADDER_XRAY_PLAY": str(path), "LADDER_MOST_SCHEDULES": "1",
            "LADDER_DIAGNOSIS_SECONDS": "1"})
        if not path.exists():
            return None
        failed = done.first_failure()
        reported = words_of(failed["failures"][0], 2)[:2] if failed else []
        return {**json.loads(path.read_text()), "reported": ": ".join(map(str.strip, reported))}


def lines_of(file, planted=None):
    """A file's lines, from the folder `planted` if it is there."""
    return (planted and text_of(planted / file) or text_of(file)).splitlines()


def line_of(place, planted=None):
    return next(iter(lines_of(place["file"], planted)[place["line"] - 1:]), "")


def source_of(places, chapter, planted=None):
    """Of each of the chapter's files, the lines around these places, the kernel's first. A file
    in the folder `planted` replaces the lesson's; `changed` are the numbers of its new lines."""
    used = {}
    for place in places:
        used.setdefault(place["file"], set()).add(place["line"])
    parts = []
    for file in sorted(used, key=lambda file: (not Path(file).name.startswith("kernel"), file)):
        if not file.startswith(f"{chapter}/"):
            continue
        ours, lines = lines_of(file), lines_of(file, planted)
        first = max(1, min(used[file]) - _BEFORE)
        changed = {line + 1 for at, to, _ in changes(lines, ours)
                   for line in range(at, max(to, at + 1))}
        parts.append({"file": file, "first": first, "changed": sorted(changed),
                      "text": lines[first - 1:max(used[file]) + _AFTER]})
    return parts


def fitted(play):
    """The recording as JSON of less than MOST_BYTES: its first steps, or those that end soon after
    its error."""
    def text_of_all(**changed):
        # </ would end the page's script
        return json.dumps({**play, **changed}, separators=(",", ":")).replace("</", "<\\/")

    steps = play["steps"]
    sizes = [len(json.dumps(step, separators=(",", ":"))) + 1 for step in steps]
    room = MOST_BYTES - len(text_of_all(steps=[])) - 200
    wrong = next((at for at, step in enumerate(steps) if isinstance(step[-1], dict)), 0)
    begin, end = 0, len(steps)
    while sum(sizes[begin:end]) > room:
        if end > wrong + 100:
            end -= min(50, end - wrong - 100)
        else:
            begin += 50
    return text_of_all(steps=steps[begin:end], first=play["first"] + begin)


def recordings_of(folder):
    """A lesson's own recordings, its kernel's first."""
    patch, _ = played_mistake(folder)
    return [Recording(folder), *([Recording(folder, is_mistake=True)] if patch else [])]


def _needed(lessons):
    """For each lesson's folder, the recordings that its players need. Two lessons share the
    recording that both need."""
    shared, needed = {}, {}
    for folder in map(Path, lessons):
        before = step_before(folder)
        some = [*(recordings_of(before)[:1] if before else []), *recordings_of(folder)]
        needed[folder] = [shared.setdefault(each.name, each) for each in some]
    return needed, list(shared.values())


def _scripts(some):
    return [each.path for each in some if not each.is_empty()]


def made_before(lessons):
    """As recordings(), but makes nothing: only the lessons whose recordings are all there."""
    needed, all_of_them = _needed(lessons)
    fit = {each for each in all_of_them if each.path.exists() and each.is_made(each.key())}
    return {folder: _scripts(some) for folder, some in needed.items() if fit.issuperset(some)}


def recordings(lessons, build):
    """Makes what is missing for these lessons' folders and the steps before them. Returns, for
    each lesson, the scripts that its players need. The build must be prepared."""
    needed, all_of_them = _needed(lessons)
    missing = {each: each.key() for each in all_of_them}
    missing = {each: key for each, key in missing.items() if not each.is_made(key)}
    if missing:
        build.build(*sorted(each.program for each in missing))
    progress = Progress()
    for done, (each, key) in enumerate(missing.items()):
        progress.show(done, len(missing), f"recording {each.name}")
        each.make(build, key)
    progress.clear()
    return {folder: _scripts(some) for folder, some in needed.items()}


def build_for_xray(preset):
    """A build that can make recordings."""
    build = Build(preset)
    build.lock()
    build.prepare()
    if not build.has_xray():
        raise Failed("the X-ray needs g++, but this build uses another compiler")
    return build


def players(folder, scripts):
    """The lesson's players as HTML: its kernel beside the step before, and the mistake beside what
    is right. `scripts` are its recordings."""
    made = {path.stem for path in scripts}
    lesson, before = lesson_of(folder), step_before(folder)
    pairs = [[before and lesson_of(before), lesson]]
    if f"{lesson}.mistake" in made:
        pairs.append([f"{lesson}.mistake", lesson])
    shown = [" ".join(name for name in pair if name in made) for pair in pairs]
    parts = [f'<xray-player names="{names}"></xray-player>' for names in shown if names]
    if lesson_number(folder) in _WITH_INDEX:
        parts.append(f'<xray-banks lesson="{lesson_number(folder)}"></xray-banks>')
    return "\n".join(parts)


def player_script():
    """The player, for a page with players() and, before it, their recordings. Needs nothing
    else."""
    return "\n".join((_PLAYER / name).read_text() for name in _SCRIPTS)


def page(title, body, scripts):
    """A page that works on its own, from a file."""
    texts = [*(path.read_text() for path in scripts), player_script()]
    text = (_PLAYER / "page.html").read_text()
    parts = {"TITLE": html.escape(title), "PLAYERS": body,
             "SCRIPTS": "\n".join(f"<script>\n{each}\n</script>" for each in texts)}
    return re.sub(r"<!--(\w+)-->", lambda part: parts[part[1]], text)


def arguments_of_play(words, caller):
    """The page's path and the lesson's folder, of ./ladder xray 05 --play FILE.html."""
    at = words.index("--play")
    file, words = words[at + 1:at + 2], words[:at] + words[at + 2:]
    if not file or file[0].startswith("-"):
        raise Refused("--play needs a value; allowed: --play FILE.html")
    if len(words) != 1:
        raise Refused("--play takes one lesson, such as 05 or 07.02")
    path = Path(caller) / file[0]
    if not path.parent.is_dir():
        raise Refused(f"--play is '{file[0]}'; allowed: a file in a folder that exists")
    folder = Path(place_of(words[0]).folder)
    if folder not in lessons_played():
        raise Refused(f"{folder} has no xray_test.cpp; allowed with --play: "
                      + " ".join(map(lesson_of, lessons_played())))
    return path, folder


def play(words, preset, caller):
    """./ladder xray 05 --play FILE.html writes the lesson's players as one page."""
    path, folder = arguments_of_play(words, caller)
    scripts = recordings([folder], build_for_xray(preset))[folder]
    title = f"The X-ray plays {lesson_number(folder)}"
    write_whole(path, page(title, players(folder, scripts), scripts))
    say(f"written: {path}  (open it in a browser)")
    return 0
