"""A closer look at a learner's kernel: the failing cases, the sanitizer, the first NaN, the X-ray, the
budget, and the first value that differs from ours."""
import re

from ladder_tools import gtest
from ladder_tools.blaming import IN_BOUNDS, Blame
from ladder_tools.building import say
from ladder_tools.cases import plainest, what_fails
from ladder_tools.place import ROOT, text_of
from ladder_tools.telling import (
    asan_finding, is_unnamed, more_than_ours, most_telling, short, short_places, words_of)
from ladder_tools.values import Trail, first_wrong

# an index far past an array's end must not reach the next array
_ASAN = "detect_leaks=0:redzone=2048"


class CloserLook(Blame):
    """Builds and runs the programs of a copy, and examines its failing test."""

    def __init__(self, exercise, build, seconds):
        super().__init__(exercise, build, seconds)
        self._compiled = set()
        self._wrong = []  # the failing cases, if they were examined
        self._named_by_xray = ""  # the X-ray's lines about mistakes
        # the sentences about its first wrong value, and the touch
        self.wrong_values, self.wrong_touch = [], None
        self._dearer = False  # over budget
        self._xray_errors = False  # a race, an out-of-bounds access, ...
        self._out_of_bounds = False  # found by AddressSanitizer
        # the emulator's sentence about a shuffle that reads a lane without a value
        self._absent = ""
        self._under_the_first = False  # the X-ray's run failed with the first order of threads
        self._host_touches = ""  # the emulator's sentence about it
        self._diverges = False  # threads wait at different barriers, and races follow from that
        self._nan_input = False  # the test itself passes a NaN
        # a thread's error ended the launch, so the other threads store nothing more
        self._stopped = False
        self._counted = None  # the Run of the budgets' cases under the X-ray

    def told(self, findings):
        """The X-ray's findings to print, and how many are left out. See most_telling."""
        return most_telling(findings, self._exercise.mine)

    def _where_all_are_shown(self, target, test_filter):
        return f": ./{self._build.name}/{target} --gtest_filter='{test_filter}' shows all"

    def _compile(self, target):
        if target in self._compiled:
            return True
        if not self._compiled:  # once; the build itself shows how far the others are
            self._say_building()
        if not self._build.compile(target):
            return False
        self._compiled.add(target)
        return True

    def _say_building(self):
        say(f"building ({self._build.name})" + ("" if self._build.log.exists() else ", which takes some minutes the first time"))

    def _run(self, target, *options, seconds=None, **more):
        done = gtest.run(self._build.folder / target, seconds or self._seconds, *options, **more)
        done.seconds = seconds or self._seconds
        return done

    def _look_wider(self, target, done):
        """If a case fails and the words do not give the reason, prints which cases fail, and the
        report of the simplest."""
        failed = done.first_failure()
        if failed is None or "MatchesReference/" not in failed["name"] or not is_unnamed(failed["failures"][0]):
            return
        suite = failed["name"].partition("MatchesReference/")[0]
        names = [name for name in self._names if name.startswith(f"{suite}MatchesReference/")]
        all_of_them = self._run(target, test_filter=":".join(names), environment={"LADDER_NO_NAMES": "1"})
        if all_of_them.crashed:  # a crash leaves no list of tests
            crashed = all_of_them.last_begun()[0]
            self._wrong = [failed["name"], crashed]
            print(f"  another case crashes: {crashed}")
            return
        wrong = [each["name"] for each in all_of_them.tests if each["failures"]]
        right = [each["name"] for each in all_of_them.tests if not each["failures"] and not each["skipped"]]
        self._wrong = wrong
        text = what_fails(right, wrong)
        if text:
            print(f"  {text}")
        if not wrong:
            return
        one = plainest(wrong)
        if one == failed["name"]:
            return
        closer = self._run(target, test_filter=one).first_failure()
        if closer:
            self.failing = one
            self._said += "\n".join(closer["failures"])
            self.failures += closer["failures"]
            print("\n".join([f"  the simplest of them: {one}", *(f"  {line}" for line in words_of(closer["failures"][0], 7)[1:])]))

    def _asan(self):
        target = f"{self._target}_asan"
        if not self.failing or not self._compile(target):
            return
        tests = ":".join(self._wrong or [self.failing])
        environment = {"ASAN_OPTIONS": _ASAN, "LADDER_NO_NAMES": "1", "LADDER_POISON_GUARDS": "1"}
        finding = asan_finding(self._run(target, test_filter=tests, environment=environment).text)
        if finding:
            self._out_of_bounds = True
            print(finding)

    def _first_nan(self):
        """Prints the line of the learner's file where the first NaN arises from numbers, if the
        failing test met a NaN. Whether there is one."""
        said = text_of(self._build.folder / "exercise.log")
        if not self.failing or self._nan_input or not re.search(r"\bnan\b", said, re.IGNORECASE):
            return False
        target = f"{self._target}_{'xray' if self._exercise.needs_device else 'asan'}"
        if self._exercise.needs_device and not self._build.has_xray() or not self._compile(target):
            return False
        arising = self._nans(target, self._exercise.mine)
        ours = f"{self._target}_ours"
        # Our kernel may make a NaN too and discard it, by a choice between two computed numbers.
        harmless = {made for *_, made in self._nans(ours, self._exercise.solution)} if arising and self._exercise.needs_device and self._compile(ours) else set()
        places = [(line, who) for line, who, made in arising if made not in harmless]
        if not places:
            return False
        first, who = places[0]
        if set(self._holes_at([first])) & set(self._green):
            return False  # its cause is in a wrong hole
        above = next((line for line, its in places if its == who and line < first), None)
        also = f". Another arises at {self._exercise.mine}:{above} in the same thread; the compiler may have swapped the two" if above else ""
        print(f"The first NaN arises at {self._exercise.mine}:{first}{who}, in an operation on finite or infinite numbers{also}")
        return True

    def _nans(self, target, source):
        environment = {"LADDER_TRACE_NAN": "1", "LADDER_NO_NAMES": "1", "OMP_NUM_THREADS": "1", "ASAN_OPTIONS": _ASAN}
        done = self._run(target, test_filter=self.failing, environment=environment)
        return list(gtest.nans(done.text, self._build.folder / target, source))

    def _xray(self):
        """Prints what the X-ray finds in the failing test, if there is one, and the budget of the
        learner's kernel. Whether nothing is wrong."""
        if not self._build.has_xray():
            return True
        target = f"{self._target}_xray"
        if not self._compile(target):
            print(f"X-ray: its program could not be built (whole log: {self._build.name}/build.log)")
            return False
        shown, errors, passed = [], [], not self.failing
        done, text, clean = None, "", True
        for test_filter in (self.failing or IN_BOUNDS, "*KeepsItsBudget"):
            keep = ({"LADDER_XRAY_VALUES": str(self._values("yours"))}
                    if test_filter == self.failing else {})
            done = self._run(target, test_filter=test_filter, environment={"LADDER_NO_NAMES": "1", **keep})
            text += done.text
            if test_filter == self.failing:
                self._absent = next((absent["message"].replace(f"{ROOT}/", "")
                                     for absent in done.facts("absent lane")), "")
                self._said += done.text
                self._under_the_first = not done.facts("order of threads")
            clean = clean and done.status == 0
            if test_filter == IN_BOUNDS and done.status != 0:
                failed = done.first_failure()
                self.failing = failed["name"] if failed else done.last_begun()[0]
            if not errors and not self._diverges:
                touches = [touch["message"] for touch in done.facts("host access")
                           if touch["message"] != self._host_touches]
                errors = list(dict.fromkeys([*touches, *done.findings()]))
                # the emulator alone may miss it if other memory follows an array
                if not errors and not self._stopped:
                    errors = list(filter(None, [self._ends(done)]))
                self._xray_errors = bool(errors)
                telling, more = self.told(errors)
                shown += telling
                if more:
                    shown.append(f"{more} more{self._where_all_are_shown(target, test_filter)}")
        if done.timed_out or done.crashed and not done.facts("host access"):
            shown.append(done.how_it_ended(done.seconds))
        shown += [stopped["message"] for stopped in done.facts("stopped")]
        shown += self._budget(done)
        self._counted = done
        (self._build.folder / "exercise_xray.log").write_text(text)
        if not self.failing and clean and not shown:
            shown = ["nothing is wrong"]
        for line in shown:
            print(f"X-ray: {line}")
        self._named_by_xray = "\n".join(shown)
        if passed and (errors or self._dearer and not self.failing):
            self._red = self._holes_of(self._is_found if errors else self._is_dear, target)
            for hole in self._red:
                piece = f"{self._exercise.piece} {hole}"
                print(f"Our kernel with your lines of {piece} " + (f"has a finding too, so the mistake is in {piece}." if errors else
                                                                   f"is over budget too, so the cost is in {piece}."))
            self._green = [hole for hole in self._exercise.holes() if self._red and hole not in self._red]
        return clean

    @staticmethod
    def _ends(done):
        """The error that ended a launch of these tests, with its place, or ""."""
        failures = (done.first_failure() or {"failures": []})["failures"]
        return next((short_places(launch["message"].partition("\n")[0])
                     for failure in failures for launch in failure.ends()), "")

    def _values(self, whose):
        return self._build.folder / f"exercise_values.{whose}"

    def _absent_lane(self):
        """Prints the shuffle of the failing test that reads a lane without a value, if our kernel
        has none. Whether there is one."""
        target = f"{self._target}_ours"
        if not self._absent or self._stopped or not self._compile(target):
            return False
        ours = self._run(target, test_filter=self.failing, environment={"LADDER_NO_NAMES": "1"})
        if ours.facts("absent lane"):
            return False
        print(f"{self._absent}.")
        return True

    def _first_wrong(self):
        """Prints where the first value goes wrong in the failing test, compared with our kernel in
        the same test."""
        yours, ours, target = self._values("yours"), self._values("ours"), f"{self._target}_ours"
        if not self.failing or self._diverges or not yours.exists() or not self._compile(target):
            return  # after divergent barriers, wrong stores are everywhere
        as_far = {"LADDER_MOST_SCHEDULES": "1"} if self._under_the_first else {}
        self._run(target, test_filter=self.failing, environment={"LADDER_XRAY_VALUES": str(ours), "LADDER_NO_NAMES": "1", **as_far})
        if ours.exists():
            name = self.failing + getattr(self.failing, "case", "")
            half = "b" if "bf16" in name else "e" if "fp16" in name else None
            self.wrong_values, self.wrong_touch = first_wrong(Trail(yours), Trail(ours), half, self._stopped)
            print("".join(f"{line}\n" for line in self.wrong_values), end="")
        for path in (yours, ours):
            path.unlink(missing_ok=True)

    def _beside_ours(self, mine, ours):
        """The counters in which a right kernel within its budget exceeds ours."""
        target = f"{self._target}_ours"
        counted = self._counted.facts("counters") if self._counted else []
        if mine == ours or not counted or not self._compile(target):
            return ""
        more = more_than_ours(counted, self._run(target, test_filter="*KeepsItsBudget").facts("counters"))
        return f"More than in our kernel, in the budget's case: {', '.join(more)}." if more else ""

    def _budget(self, done, only_too_many=False):
        """The lines about the budget; if the result is wrong, only those over it."""
        shown = []
        for fact in done.facts("budget"):
            used, allowed, what = fact["used"], fact["allowed"], fact["what"]
            of = f", per {fact['per']}, {fact['implementation']}" if fact["per"] else ""
            too_many = used > allowed
            self._dearer |= too_many
            if too_many:
                shown.append(f"{short(used)} of {short(allowed)} {what}{' used' if of else ''}{of}  <- too many")
            elif not (self.failing or only_too_many) and (used > 0 or allowed > 0 or not what.startswith("global ")):
                shown.append(f"budget {short(allowed)}, used {short(used)}: {what}{of}")
            if fact["dearest"] and (too_many or not only_too_many):
                shown.append(f"  {fact['dearest'].replace(f'{ROOT}/', '')}")
        return shown
