"""./ladder exercise 03.boss shows a kernel with one mistake and the X-ray's report of it (for a
kernel on the CPU, a test's report), and checks the answer, a line and a reason."""
import contextlib
import re

from ladder_tools import gtest
from ladder_tools.building import Build, require_writable, say
from ladder_tools.checking import seconds_allowed
from ladder_tools.learning import note_solved
from ladder_tools.place import ROOT, Failed, Refused, bosses, kernel_in, lesson_of, place_of, refused
from ladder_tools.patches import changes, header, patched
from ladder_tools.telling import words_of

_OF_BOTH = {
    "wrong-index": "an index is computed wrongly, so another element is read or written",
    "out-of-bounds": "a guard or the end of a loop is wrong, so an access is past the end of an array",
}
REASONS = {
    "race": "several threads change one element, as they should, but without an atomic",
    "missing-barrier": "one thread reads before another has written, or writes before another has read; a barrier would order the two",
    **_OF_BOTH,
    "uninitialised": "memory is read before anything is written to it",
}
REASONS_ON_THE_CPU = {
    "wrong-order": "a value is changed before it is read, or read before it is changed",
    "left-over": "a variable still has its value from an earlier head, step or row",
    **_OF_BOTH,
    "race": "threads share a variable that each should have for itself",
    "too-often": "a value that does not change is computed again and again",
    "shared-line": "two threads write to one cache line, which moves from core to core",
}


class Boss:
    """The patch `more/boss.patch` of a lesson. Its hunk is the mistake. Its head names the reason,
    the test that shows it, the beginning of the X-ray's sentence, and the explanation."""

    def __init__(self, name):
        known, lesson, self.name = bosses(), name.rpartition(".")[0], ""
        with contextlib.suppress(Refused):
            self.name = f"{lesson_of(place_of(lesson).folder)}.boss"
        if self.name not in known:
            raise refused("boss", name, known)
        self.patch = known[self.name]
        folder = self.patch.parents[1]
        self.kernel = kernel_in(folder)
        self.on_the_cpu = self.kernel.suffix == ".cpp"
        self.reasons = REASONS_ON_THE_CPU if self.on_the_cpu else REASONS
        self.mine = "my" / folder / f"boss{self.kernel.suffix}"
        self.target = f"boss.{lesson_of(folder)}.kernel"
        text = (ROOT / self.patch).read_text()
        self.reason, self.test, self.shows, self.why = (header(text, word) for word in ("reason", "test", "shows", "why"))
        self.text = patched(self.kernel, self.patch)

    def lines(self):
        """The mistake's lines, or the two lines around a missing line."""
        found = set()
        for begin, end, _ in changes(self.text.splitlines(), (ROOT / self.kernel).read_text().splitlines()):
            found |= set(range(begin + 1, end + 1)) or {begin, begin + 1}
        return found

    def findings(self, program, seconds):
        """The reports of the X-ray and the judge. The judge must not name the mistake, because that
        is the answer."""
        done = gtest.run(program, seconds, test_filter=self.test, environment={"LADDER_NO_NAMES": "1"})
        failures = [failure for test in done.tests for failure in test["failures"]
                    if all(launch["kind"] != "finding" for launch in failure.facts("failed launch"))]
        said = [line.removeprefix("  ") for failure in failures for line in words_of(failure) if line.strip() != "Failed"]
        findings = {words_of(f"\n{finding}")[0].strip(): finding for finding in done.findings()}
        return [findings.get(line, line) for line in said]

    def answer(self, line, reason):
        """(whether the answer is right, the reply)"""
        right_line, right_reason = line in self.lines(), reason == self.reason
        if right_line and right_reason:
            return True, f"Solved: {self.name}. {self.mine}:{line}: {self.text.splitlines()[line - 1].strip()}\n{self.why}"
        if right_line:
            return False, f"Line {line} is right. The reason is not {reason}."
        if right_reason:
            return False, f"{reason} is right. Line {line} is not; the cause of a finding may be in another line."
        return False, f"Neither is right. The mistake is not in line {line}, and the reason is not {reason}."


def without_lines(finding):
    """The X-ray's sentence without its places in the source; other sentences have none."""
    return getattr(finding, "without_places", finding)


def boss(words, preset):
    """`words`: the boss's name, alone or followed by a line and a reason."""
    name, *given = words
    one = Boss(name)
    usage = f"./ladder exercise {one.name} LINE REASON"
    if given and (len(given) != 2 or not re.fullmatch("[1-9][0-9]*", given[0])):
        raise Refused(f"{one.name} takes no answer, or a line and a reason: {usage}")
    if given and int(given[0]) > len(one.text.splitlines()):
        raise Refused(f"line is {given[0]}; allowed: 1 to {len(one.text.splitlines())}, the lines of {one.mine}")
    if given and given[1] not in one.reasons:
        raise refused("reason", given[1], one.reasons)
    if not (ROOT / one.mine).exists():
        require_writable("my")
        (ROOT / one.mine).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / one.mine).write_text(one.text)
    elif (ROOT / one.mine).read_text(errors="replace") != one.text:
        say(f"{one.mine} has changed, but lines are counted in the original; delete the file, and the next call writes it again")
    if given:
        is_right, said = one.answer(int(given[0]), given[1])
        print(said)
        if is_right:
            note_solved(one.name)
        return 0 if is_right else 1

    build = Build(preset)
    build.prepare(one.target)
    if not one.on_the_cpu and not build.has_xray():
        raise Failed("a boss needs the X-ray, which needs g++, but this build uses another compiler")
    build.build(one.target)
    seen = "" if one.on_the_cpu else ", under the X-ray and without line numbers,"
    print(f"{one.mine} has one mistake. Its test {one.test}{seen} reports:")
    for finding in dict.fromkeys(map(without_lines, one.findings(build.folder / one.target, seconds_allowed()))):
        print(f"  {finding}")
    print(f"Where is it, and why? {usage}    (for a missing line, the line before or after it)")
    for reason, meaning in one.reasons.items():
        print(f"  {reason:<16} {meaning}")
    return 0
