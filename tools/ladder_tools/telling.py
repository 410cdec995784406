"""Puts what test programs report into words: their failures and facts (docs/xray.md#facts). The
regular expressions here are for the words of GoogleTest and of sanitizers, for names of tests and
for places in sources. The words WRONG RESULT mark where a test's own words begin in a failure of
GoogleTest, because tests also write them without a record."""
import difflib
import re

from ladder_tools import gtest
from ladder_tools.place import ROOT

# UBSan's words
INDEX = re.compile(r"^\S*?/?(my/\S+:[0-9]+):[0-9]+: runtime error: (index \S+ out of bounds for type .*)$", re.MULTILINE)

# GoogleTest's words. The forms of EXPECT_LE and its like, and of EXPECT_TRUE.
_ORDER = re.compile(r"^Expected: \((.*)\) (<=|<|>=|>) \((.*)\), actual: (.*) vs (.*)$", re.MULTILINE)
_ORDER_WORDS = {"<=": "at most", "<": "less than", ">=": "at least", ">": "more than"}
_TRUTH = re.compile(r"^Value of: (.*)\n  Actual: (true|false)\nExpected: (true|false)$", re.MULTILINE)
_EQUALITY = re.compile(r"^Expected equality of these values:\n  (.*)\n(?:    Which is: (.*)\n)?  (.*)(?:\n|$)(?:    Which is: (.*)(?:\n|$))?", re.MULTILINE)
_THROWN = 'C++ exception with description "'
_OF_GOOGLETEST = (")", "Google Test trace:", "Expected: true", "  Actual: it does.")


def facts_of(failures, kind):
    return [fact for failure in failures if isinstance(failure, gtest.Told)
            for fact in failure.facts(kind)]


def short_places(line):
    """The line with paths from ROOT, and without a place in the tests' sources before it."""
    # a header's path begins with ../
    line = re.sub(r"(?<![\w/.])\.\./(?=\w+/)", "", line.replace(f"{ROOT}/", ""))
    return re.sub(r"^(?!(\.\./)?my/)\S*\.[ch]pp:[0-9]+: ", "", line)


def words_of(failure, most_lines=20):
    """The judge's words in a failure of GoogleTest, without repetitions."""
    shown, values = [], ""
    # ./ladder test shows the limits, and the case is in the test's name already
    left_out = {line for result in facts_of([failure], "wrong result")
                for line in (*result["numbers"], result["case"])}
    # this error tells nothing that its reason does not
    reasons = [launch["message"].partition("\n")[0]
               for launch in facts_of([failure], "failed launch")
               if launch["error"] == "cudaErrorLaunchFailure"]
    equality = _EQUALITY.search(failure)
    if equality and equality[2]:
        # A call may be one of the learner's functions. Other expressions are the test's own, and
        # mean little beside the judge's words.
        what = equality[1] if "(" in equality[1] or "WRONG RESULT" not in failure else "it"
        values = f"  {what} is {equality[2]}, should be {equality[4] or equality[3]}"
        failure = _EQUALITY.sub("", failure, count=1)
    failure = _ORDER.sub(lambda found: f"{found[1]} is {found[4]}, should be {_ORDER_WORDS[found[2]]} {found[5]}", failure)
    failure = _TRUTH.sub(r"\1 is \2, should be \3", failure)
    for line in failure.splitlines()[1:]:  # the first line is the place in the test's source
        if (not line.strip() or line in left_out or line in _OF_GOOGLETEST
                or line.startswith("Value of: is_right")
                or line.endswith((": Failure", "new fatal failures in the current thread."))):
            continue
        if "WRONG RESULT" in line:  # GoogleTest's lines before it name the test's own variables
            shown = []
        line = re.sub(r"^  Actual: false \(|\" thrown in the test body\.$", "", line)
        if line.startswith(_THROWN):
            line = line.removeprefix(_THROWN)
            line = next((line[line.find(why):] for why in reasons if why in line), line)
        shown.append(f"  {short_places(line)}")
    if values:
        shown.insert(1 if shown and "WRONG RESULT" in shown[0] else 0, values)
    return shown[:most_lines]


def is_unnamed(failure):
    """Whether the judge rejected a result without a sentence about it, so that an element follows
    WRONG RESULT."""
    result = next(iter(facts_of([failure], "wrong result")), None)
    said = [line for line in words_of(failure) if result and line.strip() not in result["unnamed"]]
    return len(said) > 1 and (not said[1].endswith(".") or result["all_zero"])


def tests_of_holes(names, piece="hole"):
    """{hole: its own tests}: TEST(fills, Hole2WritesTheElements) belongs to hole 2, and TEST(fills,
    Stage2WritesTheElements) to stage 2."""
    found = {}
    for name in names:
        hole = re.search(rf"\.{piece.title()}([0-9]+)[A-Z]", name)
        if hole:
            found.setdefault(hole[1], []).append(name)
    return dict(sorted(found.items()))


def shown_name(name):
    """A test's name without its hole. A failure in it may be another hole's, and the lights show
    whose."""
    return re.sub(r"\.(Hole|Stage)[0-9]+(?=[A-Z])", ".", name)


def lines_of(failures):
    """The lines of a test's failures. If a failure begins like the previous one, only the new
    lines."""
    said, before = [], ()
    orders = {f"  {fact['message']}" for fact in facts_of(failures, "order of threads")}
    for words in dict.fromkeys(tuple(words_of(failure)) for failure in failures):
        alike = next((at for at, (one, other) in enumerate(zip(words, before)) if one != other), min(len(words), len(before)))
        lines = [line for line in words[alike:] if not (line in orders and line in said)]
        if alike and lines:  # a line without its beginning would mean nothing
            lines[0] = f"  in another check: {' '.join(lines[0].split())}"
        said += lines
        before = words
    return said


def told_of(done, seconds):
    """The first failure of a run, as one sentence if it has one."""
    failed = done.first_failure()
    said = [line.strip() for line in lines_of(failed["failures"]) if line.strip() != "Failed"] if failed else []
    # a map's points end no sentence
    results = facts_of(failed["failures"] if failed else [], "wrong result")
    maps = {line.strip() for result in results for line in result["map"]}
    sentence = next((line for line in said if line.endswith(".") and line not in maps
                     and not line.startswith("WRONG RESULT")),
                    ", ".join(said[:2] if said and "WRONG RESULT" in said[0] else said[:1]))
    return sentence or done.how_it_ended(seconds)


def asan_finding(text):
    """The first access out of bounds in the learner's file, in one line; None if AddressSanitizer
    names none."""
    kind = re.search(r"ERROR: AddressSanitizer: (\S+)", text)
    if kind is None:
        return None
    report = text[kind.end():].partition(" is located ")
    access = re.search(r"^(READ|WRITE) of size ([0-9]+)", report[0], re.MULTILINE)
    places = re.findall(r"^ *#[0-9]+ .*/((?:my|build[^/ ]*/mistaken)/.*)$", report[0], re.MULTILINE)[:2]
    if not places:
        return None
    guarded = kind[1] == "use-after-poison"  # our own poisoned zone around an array
    where = re.sub(r" \[.*| in thread.*", "", report[2].splitlines()[0]) if report[2] and not guarded else ""
    what = "array access out of bounds" if guarded else kind[1]
    return (f"AddressSanitizer: {what} at {', called at '.join(places)}" + (f", {access[1].lower()} of {access[2]} bytes" if access else "")
            + (f", {where}" if where else ""))


def printed_lines(text, file, most=20):
    """The first lines that kernels printed; `file` has all."""
    lines = text.splitlines()
    more = [f"  ... {len(lines) - most} more lines in {file}"] if len(lines) > most else []
    return (["printed by the kernel:"] if lines else []) + [f"  {line}" for line in lines[:most]] + more


def short(count):
    """The number without an exponent, not 1.638e+04."""
    return f"{count:.4g}" if count < 1e4 else f"{count:.0f}"


def placed_all(findings, place):
    """Each finding of the X-ray or other sentence once, with its places mapped by `place`."""
    return list(dict.fromkeys(each.placed(place) if isinstance(each, gtest.Finding) else place(each) for each in findings))


def _lines_in(mine, finding):
    """The lines at which a finding's accesses are: numbers for the learner's file; for a helper,
    its caller there."""
    lines = []
    for places in getattr(finding, "parties", ()):
        of_mine = [place.rpartition(":")[2] for place in places if place.startswith(f"{mine}:")]
        lines += of_mine[:1] or places[:1]
    return tuple(dict.fromkeys(lines))


def most_telling(findings, mine, most=3, pairs=3):
    """A few of the X-ray's findings in order: the first per cause, and for a race the other lines
    in short. And how many are left out."""
    shown, elsewhere = {}, {}
    # the one that needs the stronger barrier comes first
    for finding in sorted(findings, key=lambda each: getattr(each, "in_a_warp", False)):
        cause, lines = getattr(finding, "cause", (finding, "")), _lines_in(mine, finding)
        if cause not in shown and len(shown) < most:
            shown[cause], elsewhere[cause] = finding, {lines: 1}
        elif cause in shown:
            elsewhere[cause][lines] = elsewhere[cause].get(lines, 0) + 1
    said, told = [], 0
    for cause, finding in sorted(shown.items(), key=lambda each: findings.index(each[1])):
        first, *others = elsewhere[cause].items()
        some = others[:pairs] if cause[0] == "race" else []
        said.append(finding)
        if some:
            said.append(f"  the same at lines {', '.join(' and '.join(2 * lines if len(lines) == 1 else lines) for lines, _ in some)}")
        told += first[1] + sum(count for _, count in some)
    return said, len(findings) - told


_ALIKE = 1.02  # a ratio up to which counts are alike


def more_than_ours(yours, ours, most=4):
    """Counters that are higher in the budgets' cases than in our kernel: "barriers 6 (ours 4)".
    Both arguments are facts of the programs."""
    said = [f"{words} {count:,} (ours {other['counts'][words]:,})" for one, other in zip(yours, ours)
            for words, count in one["counts"].items() if count > _ALIKE * other["counts"][words]]
    return list(dict.fromkeys(said))[:most]


def in_files_of(mine, kernel, text, name, said):
    """The sentence `said` with the places in a mixed text, called `name`, replaced by places in its
    sources, {path: text} for the learner's copy and for our kernel. A line that is in both counts
    as the copy's. For some lines the compiler gives the name of the emulator's copy."""
    lines, at = text.splitlines(), {}
    for path, from_text in (*kernel.items(), *mine.items()):
        for block in difflib.SequenceMatcher(None, from_text.splitlines(), lines, autojunk=False).get_matching_blocks():
            at.update({block.b + n + 1: (path, block.a + n + 1) for n in range(block.size)})
    here = next(iter(mine))

    def place(found):
        path, line = at.get(int(found[1] or found[2]), (here, 0))
        return (f"{path}:{line}" if found[2] else f"line {line} of {path}") if line else str(path)
    return re.sub(rf"\bline ([0-9]+) of {re.escape(name)}|{re.escape(name)}(?:\.cpp)?:([0-9]+)", place, said).replace(name, str(here))
