"""Draws a learner's kernel beside ours, and checks planted mistakes like a learner's copy."""
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from ladder_tools import gtest
from ladder_tools.building import say
from ladder_tools.checking import Check, WithoutHoles
from ladder_tools.patches import patched
from ladder_tools.place import MORE, ROOT, Exercise, Failed, Refused, ToRead, exercise_of, exercises, kernel_in, mistakes, place_of, refused
from ladder_tools.telling import words_of

_PAGE = ROOT / "common" / "xray" / "page.html"
_BUDGET = "KeepsItsBudget"
_SECONDS = 120  # the X-ray's own limit ends an endless loop
_MOST_SCHEDULES = 9  # more than any test has


def require_drawable(exercise):
    if not exercise.needs_device:
        known = " ".join(each.name for each in exercises() if each.needs_device)
        raise Refused(f"{exercise.name} is a kernel for the CPU, but the X-ray draws only CUDA kernels; allowed with --draw: {known}")


def copy_at(word):
    """The exercise whose copy my/03_cuda_baseline, my/03_cuda_baseline/exercise.cu, ... means; None
    if the word is not a path into my/."""
    path = Path(os.path.normpath(word))
    if path.parts[:1] != ("my",):
        return None
    for each in exercises() + exercises("scratch"):
        if path in (each.mine, each.mine.parent):
            require_drawable(each)
            if not (ROOT / each.mine).exists():
                raise Refused(f"{each.mine} does not exist; ./ladder exercise {each.name} creates it")
            return each
    raise refused("copy", word, [str(each.mine.parent) for each in exercises() if each.needs_device])


class Mistake(Exercise):
    """A lesson's sources with one of its more/mistakes/, copied to the build folder."""

    def __init__(self, folder, name):
        super().__init__(folder / "exercise.cu")
        self.patch = folder / MORE / "mistakes" / f"{name}.patch"
        self.mistake, self.target = name, f"mistaken{self.name}"
        self.changed = Path(re.search(r"^\+\+\+ b/(.*)$", (ROOT / self.patch).read_text(), re.MULTILINE)[1])
        self.solution = self.changed if self.changed.parent == folder else kernel_in(folder)
        self.needs_device = self.solution.suffix == ".cu"

    def holes(self):
        """The holes of its lesson; none if the lesson has no exercise."""
        return super().holes() if (ROOT / self.stub).exists() else []

    def lines(self):
        """Its description, and the lines that it changes."""
        text = (ROOT / self.patch).read_text().splitlines()
        return [line[2:] for line in text if line.startswith("# mistake:")] + [line for line in text if not line.startswith("#")]

    def plant(self, build):
        """Writes the copy, with all sources of the lesson, so that all are compiled with the
        mistake."""
        place = build.folder / "mistaken"
        shutil.rmtree(place, ignore_errors=True)
        for each in [*(ROOT / self.folder).glob("*.c*"), ROOT / self.changed]:
            copy = place / each.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(each, copy)
        (place / self.changed).write_text(patched(self.changed, self.patch))
        self.mine = Path(build.name) / "mistaken" / self.solution


def _mistakes_of(folder):
    return sorted(path.stem for path in (ROOT / folder).glob(f"{MORE}/mistakes/*.patch"))


def mistake_of(lesson, name):
    place = place_of(lesson)
    folder = Path(place.folder)
    if place.lesson is None and not _mistakes_of(folder):
        folder = exercise_of(lesson).folder
    known = _mistakes_of(folder)
    if not known:
        lessons = " ".join(sorted({str(patch.parents[2]) for patch in mistakes().values()}))
        raise Refused(f"{folder} has no mistakes; allowed with --mistake: {lessons}")
    if not name:
        raise ToRead(f"the mistakes of {lesson}: {' '.join(known)}")
    if name not in known:
        raise Refused(f"mistake is '{name}'; allowed for {lesson}: {' '.join(known)}", name, known)
    return Mistake(folder, name)


class Look(WithoutHoles):
    """A check of a planted mistake, which may be outside the holes."""

    def _warnings(self, unfinished):
        return super()._warnings(unfinished=True)  # the mistake may leave names unused

    def _unfinished(self):
        return []  # no hole is empty, and the lesson may have none

    def _verdict(self, passed, clean):
        mistake = self._exercise
        if passed and clean:
            print(f"These tests do not notice it. ./ladder test mistake.{mistake.name}.{mistake.mistake} runs all tests.")
            return False
        noticed = passed or self.failing is not None  # otherwise it does not compile
        if noticed:
            print("The mistake is noticed.")
        return noticed


def xrayed(program, test, schedules=None):
    """(the report of that test, how it ended). The report is None if no kernel ran. `schedules`
    limits the orders of threads that run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "xray.json"
        most = {"LADDER_MOST_SCHEDULES": str(schedules)} if schedules else {}
        done = gtest.run(program, _SECONDS, test_filter=test, environment={"LADDER_XRAY_JSON": str(path), **most})
        return (json.loads(path.read_text()) if path.exists() else None), done


def _launches(report):
    return sum(kernel["launches"] for kernel in report["kernels"]) if report else 0


def xrayed_as_far(program, ours, test):
    """The same for two programs. The second runs as many orders of threads as the first, which ends
    at a failure, because counts of different numbers of launches cannot be compared."""
    theirs, schedules = xrayed(program, test), 1
    beside = xrayed(ours, test, schedules)
    while 0 < _launches(beside[0]) < _launches(theirs[0]) and schedules < _MOST_SCHEDULES:
        schedules += 1
        beside = xrayed(ours, test, schedules)
    return theirs, beside


def draw(exercise, build, check, page):
    """Draws the page with a copy's kernels and ours in the same test: the failing one if the X-ray
    sees the reason or a value is wrong, otherwise the budget's, which fills whole warps. Whether
    there is a page."""
    failing = check.failing
    if not build.has_xray():
        raise Failed("the X-ray needs g++, but this build uses another compiler")
    theirs = "with the mistake" if isinstance(exercise, Mistake) else "yours"
    programs = {theirs: f"{exercise.target}_xray", "ours": f"{exercise.target}_ours"}
    if not build.compile(*programs.values()):
        return False
    budgets = [name for name in gtest.names_of(build.folder / programs[theirs]) if name.endswith(_BUDGET)]
    reports = None
    for test in ([failing] if failing else []) + budgets[:1]:
        these = dict(zip(programs, xrayed_as_far(*(build.folder / program for program in programs.values()), test)))
        if all(report for report, _ in these.values()):
            reports = these
            if has_errors(reports[theirs][0]) or test == failing and check.wrong_touch:
                break
    if reports is None:
        say("no page, because no kernel was launched")
        return False
    joined = join({whose: report for whose, (report, _) in reports.items()})
    failure = reports[theirs][1].first_failure()
    if failure and not has_errors(reports[theirs][0]):
        joined["verdict"] = [line.strip().replace(f"{ROOT}/", "") for line in words_of(failure["failures"][0], 3)] + check.wrong_values
        for kernel in joined["kernels"]:
            step = check.wrong_touch.is_in(kernel) if check.wrong_touch and kernel["whose"] == theirs else None
            if step is not None:
                kernel["opens_at"] = step
                kernel["errors"] = [check.wrong_touch.as_error(step, check.wrong_values)]
    joined["about"] = f"{exercise.mine} beside {exercise.solution}"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(to_page(joined))
    say(f"drawn: {page.relative_to(ROOT) if page.is_relative_to(ROOT) else page}  (open it in a browser)")
    return True


def has_errors(report):
    return any(kernel["errors"] for kernel in report["kernels"])


def first_difference(kernel, ours):
    """The first step of the kernel that ours does not make: the n-th of its kind on its array
    accesses other bytes. 0 if there is none."""
    def requests(of):
        kinds, found = {site["id"]: site["operation"] for site in of["sites"]}, {}
        for at, step in enumerate(of["steps"]):
            found.setdefault((kinds[step["site"]], step["buffer"]), []).append((at, step["bytes"], step["lanes"]))
        return found
    theirs, differ = requests(ours), []
    for kind, steps in requests(kernel).items():
        others = theirs.get(kind, [])
        differ += [step[0] for n, step in enumerate(steps) if n >= len(others) or step[1:] != others[n][1:]]
    return min(differ, default=0)


def join(reports):
    """One report of two, {"yours": report, "ours": report}. It opens where they first differ."""
    (theirs, report), (ours, our_report) = reports.items()
    joined = dict(our_report)
    ours_of = dict(enumerate(our_report["kernels"]))
    joined["kernels"] = [{**kernel, "whose": theirs, "opens_at": first_difference(kernel, ours_of.get(n, our_report["kernels"][0]))}
                         for n, kernel in enumerate(report["kernels"])]
    joined["kernels"] += [{**kernel, "whose": ours} for kernel in our_report["kernels"]]
    return joined


def to_page(report):
    # otherwise a string could end the page's <script>
    text = json.dumps(report, separators=(",", ":")).replace("</", "<\\/")
    return _PAGE.read_text().replace("/*XRAY*/", text)


def page_of(exercise):
    return ROOT / "out" / f"{exercise.target}{f'.{exercise.mistake}' if isinstance(exercise, Mistake) else ''}.html"


def check_and_draw(exercise, build, page=None):
    """Prints the verdict and, with `page`, draws the page. Whether the exercise is solved, or the
    mistake noticed."""
    build.prepare(exercise.target + ("_emulated" if exercise.needs_device else ""))
    check = Look(exercise, build) if isinstance(exercise, Mistake) else Check(exercise, build)
    verdict = check()
    if page is not None:
        draw(exercise, build, check, page)
    return verdict


def look(mistake, build, page=None):
    """The same for a mistake. Whether it was noticed."""
    print("\n".join(mistake.lines()))
    build.lock()
    mistake.plant(build)
    return check_and_draw(mistake, build, page)
