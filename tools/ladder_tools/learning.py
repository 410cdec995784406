"""./ladder learn lists the lessons, prepare builds what their exercises need, and diff shows one
step."""
import datetime
import fcntl
import itertools
import json
import re
import subprocess
import tempfile
from pathlib import Path

from ladder_tools.building import Build, say
from ladder_tools.patches import with_name_of
from ladder_tools.place import (ROOT, Failed, Refused, bosses, chapters, exercise_of, exercises, in_lessons, kernel_in, lesson_of, lessons, place_of,
                                refused, registered_names, text_of, write_whole)
from ladder_tools.progress import checks, noted_in
from ladder_tools.recorded import is_old, launched_today, runs

PATHS = Path("docs") / "paths.txt"
_SOLVED = Path("my") / ".solved.json"  # {"03.01_causal_dot_product": "2026-11-22"}


def solved():
    """{exercise: the day it was solved}"""
    return noted_in(ROOT / _SOLVED)


def note_solved(name, is_solved=True):
    path = ROOT / _SOLVED
    if not path.parent.exists():
        return
    with open(path.with_suffix(".lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another terminal may note something too
        days = solved()
        days.pop(name, None)
        if is_solved:
            days[name] = datetime.date.today().isoformat()
        if days or path.exists():
            write_whole(path, json.dumps(days, indent=1) + "\n")


def next_exercise(after=None, done=None):
    """The first unsolved exercise after `after` (or after its lesson's exercise), or after the one
    that was solved last; otherwise the first unsolved one; None if all are solved. `done` is
    solved(), or somebody else's."""
    done, all_of_them = solved() if done is None else done, exercises()
    names, order = [each.name for each in all_of_them], [page.parent for page in in_lessons("README.md")]
    # the last one noted is the last one solved
    after = after or next((name for name in reversed(done) if name in names), None)
    # a lesson may have a scratch but no exercise
    last = order.index(exercise_of(after).folder) if after else -1
    behind = sum(order.index(each.folder) <= last for each in all_of_them)
    return next((name for name in names[behind:] + names if name not in done), None)


def more_of(lesson):
    """The names of a lesson's other exercises: scratch and boss."""
    return [each.name for each in exercises("scratch") if each.lesson == lesson] + [name for name in bosses() if name == f"{lesson}.boss"]


def title_of(folder):
    """The title on the first line of the folder's page: "one thread per output channel" in "# 03
    cuda_baseline: one thread ...", "Chunk walk" in "# 07.02 Chunk walk"."""
    first = text_of(Path(folder) / "README.md").partition("\n")[0]
    return first.partition(": ")[2] or re.sub(r"^[# ]*([0-9.]+[a-z]? )?", "", first)


def minutes_of(folder):
    """The minutes that a lesson takes, from the line "*Plan 45 minutes: ..." of its page; 0 without
    one."""
    plan = re.search(r"^\*Plan ([0-9]+) minutes: ", text_of(Path(folder) / "README.md"), re.MULTILINE)
    return int(plan[1]) if plan else 0


def is_reference(page):
    """Whether a lesson's page calls its kernel a general one, to look up rather than to read from
    the first line to the last."""
    return re.search(r"^\*Reference: ", page, re.MULTILINE) is not None


def hours(minutes):
    """Minutes as hours, rounded because the minutes are estimates: "0.5", "6.5", "26"."""
    halves = round(minutes / 30)
    return f"{minutes / 60:.0f}" if halves > 20 else f"{max(halves, 1) / 2:g}"


def lessons_of(chapter):
    """The folders of a chapter's lessons, its own first if it has a kernel."""
    own = [chapter] if list((ROOT / chapter).glob("kernel*.c*")) else []
    return own + [f"{chapter}/{lesson}" for lesson in lessons(chapter)]


def paths():
    """{name: its lessons, as "00.01", in order}. In docs/paths.txt a line "NAME: LESSON..." is a
    path, and the name of an earlier path stands for its lessons."""
    found = {}
    for line in text_of(PATHS).splitlines():
        name, colon, words = line.partition(": ")
        if colon and not line.startswith("#"):
            found[name] = [lesson for word in words.split() for lesson in found.get(word, [word])]
    return found


def folders_of(path):
    """The folders of the path's lessons."""
    return [place_of(lesson).folder for lesson in paths()[path]]


def _line_of(folder, exercise, days):
    """A lesson's line: whether it is solved, its name, minutes and title, then its scratch and
    boss."""
    mark = _mark(exercise.name in days) if exercise else "   "
    name, minutes = exercise.name if exercise else lesson_of(folder), minutes_of(folder)
    planned, title = f"{minutes} min" if minutes else "", title_of(folder)
    if is_reference(text_of(Path(folder) / "README.md")):
        planned, title = planned or "reference", f"{title} (reference)" if planned else title
    more = "".join(f"  {_mark(each in days)} {each.rpartition('.')[2]}" for each in more_of(name))
    return f"  {mark} {name:<28} {planned:>9}  {title}{more}"


def _mark(is_solved):
    return "[x]" if is_solved else "[ ]"


def learn(words, preset, caller):
    """Lists chapters, lessons, the solved exercises and the next one. --path NAME restricts this to
    one path, and --json prints the same as one object."""
    del preset, caller
    days, by_folder = solved(), {str(each.folder): each for each in exercises()}
    path, as_json = arguments_of_learn(words)
    if as_json:
        print(json.dumps(standing(path), indent=1, ensure_ascii=False))
        return 0
    if path:
        return _learn_path(path, by_folder, days)
    everything = 0
    for chapter in chapters():
        folders = lessons_of(chapter)
        together = sum(map(minutes_of, folders))
        everything += together
        print(f"{chapter}: {hours(together)} h")
        for folder in folders:
            print(_line_of(folder, by_folder.get(folder), days))
    print(f"\n{hours(everything)} h in all. {_sum_of(days, [each.name for each in by_folder.values()])}\n"
          "A scratch is the same kernel, written from its signature (./ladder exercise 03.scratch). A boss is a kernel with a mistake to find (03.boss).\n"
          f"For a shorter way, call ./ladder learn --path NAME; NAME is one of {', '.join(paths())}")
    following = next_exercise()
    if following:
        print(_how_to(following))
    else:
        left = [more for page in in_lessons("README.md") for more in more_of(lesson_of(page.parent)) if more not in days]
        print("You have climbed the whole ladder. Next you can "
              + (f"solve {' '.join(left)}, " if left else "")
              + "write a lesson of your own (./ladder new; docs/adding-a-chapter.md), or try to beat a kernel of chapter 07 or 08 (./ladder run 07 --all).")
    return 0


def arguments_of_learn(words):
    """(the path or None, whether --json is given)"""
    as_json, words = "--json" in words, [word for word in words if word != "--json"]
    if words[:1] == ["--path"]:
        if len(words) != 2:
            raise Refused(f"--path takes one name; allowed: {' '.join(paths())}")
        if words[1] not in paths():
            raise refused("path", words[1], paths())
        return words[1], as_json
    if words:
        raise Refused("learn takes no arguments except --path NAME and --json")
    return None, as_json


def standing(path):
    """What ./ladder learn shows, and the checks, as docs/room_json.md describes it."""
    days, by_folder = solved(), {str(each.folder): each for each in exercises()}
    rows = []
    for folder in folders_of(path) if path else [each for chapter in chapters() for each in lessons_of(chapter)]:
        exercise = by_folder.get(folder)
        name = exercise.name if exercise else lesson_of(folder)
        rows.append({"name": name, "folder": folder, "title": title_of(folder), "minutes": minutes_of(folder), "exercise": exercise is not None,
                     "solved": days.get(name), "more": {each: days.get(each) for each in more_of(name)}})
    on_it = [row for row in rows if row["exercise"]]
    unsolved = [row["name"] for row in on_it if not row["solved"]]
    return {"schema": "kernel-ladder/learn/1", "path": path, "solved": len(on_it) - len(unsolved), "exercises": len(on_it),
            "next": next(iter(unsolved), None) if path else next_exercise(), "lessons": rows, "checks": checks()}


def _learn_path(name, by_folder, days):
    folders = folders_of(name)
    for folder in folders:
        print(_line_of(folder, by_folder.get(folder), days))
    on_it = [by_folder[folder].name for folder in folders if folder in by_folder]
    print(f"\n{name}: {hours(sum(map(minutes_of, folders)))} h in all. {sum(each in days for each in on_it)} of {len(on_it)} exercises are solved.")
    following = next((each for each in on_it if each not in days), None)
    print(_how_to(following) if following else "You have solved this whole path. ./ladder learn shows all lessons.")
    return 0


def _how_to(name):
    return f"Next: read {exercise_of(name).folder}/README.md, then ./ladder exercise {name}  (--watch checks whenever you save)"


def _sum_of(days, names):
    """How much is solved, and on how many days."""
    scratches, all_bosses = [each.name for each in exercises("scratch")], list(bosses())
    parts = [f"{sum(name in days for name in group)} of {len(group)} {what}" for group, what in
             ((names, "exercises are solved"), (scratches, "written from scratch"), (all_bosses, "bosses found"))]
    dates = sorted({days[name] for name in names + scratches + all_bosses if name in days})
    spent = f", on {len(dates)} days from {dates[0]} to {dates[-1]}" if len(dates) > 1 else f", on {dates[0]}" if dates else ""
    return ", ".join(parts) + spent + "."


def prepare(words, preset, caller):
    """Builds the libraries and programs that these lessons' exercises need; without words, for
    all."""
    del caller
    chosen = []
    for word in words:
        place = place_of(word)
        inside = [each for each in exercises() if each.folder.parts[0] == place.chapter
                  and (place.lesson is None or str(each.folder) == place.folder)]
        if not inside:
            raise refused("lesson", word, [each.name for each in exercises()], ", or their chapters")
        chosen += inside
    build = Build(preset)
    build.prepare()
    targets = [f"stub.{each.name}.kernel" for each in chosen or exercises() if build.has_xray() or not each.begins_with]
    if build.has_xray() and any(each.needs_device for each in chosen or exercises()):
        targets.append("ladder_xray_testing")
    build.build(*targets)
    say(f"{len(targets)} programs and libraries are built, so the first ./ladder exercise of each lesson compiles only your file and its tests")
    return 0


def kernel_of(word):
    """The path of a chapter's or lesson's kernel."""
    kernel = kernel_in(Path(place_of(word).folder))
    if kernel:
        return ROOT / kernel
    raise Refused(f"lesson is '{word}'; allowed: chapters and lessons that have a kernel.cu, kernel_sm90.cu or kernel.cpp, such as 03 or 07.02")


def head_of(kernel):
    """(the kernel's description in the first comment, its text after Change:)"""
    head = re.match(r"(?://.*\n)*", text_of(kernel))[0].replace("\n//", "\n")
    found = re.search(r"^// ?(.*?)\n\s*Change:(.*?)\n\s*Why:", head, re.DOTALL)
    return tuple(" ".join(part.split()) for part in found.groups()) if found else (head, "")


def lesson_named_by(kernel):
    """The lesson that the kernel's `// Change:` names, "06.04"; "" if it names none."""
    named = re.search(r"\b[0-9]{2}\.[0-9]{2}[a-z]?\b", head_of(kernel)[1])
    return named[0] if named else ""


def changes(before, after, *options, **more):
    """git's comparison of two kernels of the tree, a completed process whose returncode is 0 if
    they differ in names only."""
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for path, text in ((before, with_name_of(before.read_text(), after.read_text())), (after, after.read_text())):
            side = Path(folder) / path.relative_to(ROOT)
            side.parent.mkdir(parents=True, exist_ok=True)
            side.write_text(text)
            sides.append(side.relative_to(folder))
        try:
            return subprocess.run(["git", "diff", "--no-index", "--no-prefix", *options, *sides], cwd=folder, **more)
        except FileNotFoundError:
            raise Failed("git is not installed, and diff needs it") from None


def diff(words, preset, caller):
    """Shows the words that change from one lesson's kernel to another's."""
    del preset, caller
    if len(words) != 2:
        raise Refused("diff takes two chapters or lessons, such as 03 04")
    before, after = map(kernel_of, words)
    done = changes(before, after, "--word-diff", "--unified=2")
    if done.returncode == 0:
        print(f"{before.relative_to(ROOT)} and {after.relative_to(ROOT)} differ in names only")
    return 0 if done.returncode < 2 else 1


def _computes(exercise):
    """The launchers that the kernel's file registers: {"launchers<ladder::Wkv>"}."""
    return set(re.findall(r"launchers<[\w:]+>", (ROOT / exercise.solution).read_text()))


def _implementation(exercise):
    """The implementation that its budget is about, otherwise the first that its kernel's file
    registers; "" if there is none."""
    names = re.findall(r'register_budget\(\s*"(\w+)"', text_of(exercise.folder / "xray_test.cpp"))
    return next(iter(names + registered_names((ROOT / exercise.solution).read_text())), "")


def _step_before(exercise):
    """The last earlier exercise with a common operator; None if there is none."""
    earlier = itertools.takewhile(lambda each: each.lesson != exercise.lesson, exercises())
    return next((each for each in reversed(list(earlier)) if _computes(each) & _computes(exercise)), None)


def recorded_step(exercise):
    """One sentence about the kernel's time on a GPU, from one recorded run; "" without a record.
    The shape is the first for which the lesson's page, or its chapter's, has a time. The previous
    step is named if it was measured there."""
    name, before = _implementation(exercise), _step_before(exercise)
    pages = (exercise.folder / "README.md", f"{exercise.folder.parts[0]}/README.md")
    tables = [table for page in pages for table in re.findall(r"<!-- table: (.*?) -->", text_of(page))]
    named = re.findall(r"h[12]00_[\w.-]+", "".join(text_of(f"records/tables/{table}.txt") for table in tables))
    known = {run["name"]: (path, run) for path, run in runs(ROOT / "records")}
    for path, run in (known[each] for each in named if each in known):
        rows = {row["implementation"]: row for row in run["rows"] if row.get("seconds")}
        if name in rows:
            break
    else:
        return ""

    def milliseconds(row):
        return f"{1e3 * row['seconds']:.3g} ms"
    mine, today = rows[name], launched_today(ROOT / "records")
    earlier = rows.get(_implementation(before)) if before else None
    if earlier and earlier["device"] != mine["device"]:
        earlier = None
    old = any(row and is_old(row, run["name"], row["implementation"], today) for row in (mine, earlier))
    share = f", {100 * mine['bound_seconds'] / mine['seconds']:.2g} % of the bound" if "bound_seconds" in mine else ""
    return (f"on {mine['device']} {name} takes {milliseconds(mine)}{share}"
            + (f", and {earlier['implementation']} took {milliseconds(earlier)}" if earlier else "")
            + f", at {', '.join(f'{axis}={size}' for axis, size in run['shape'].items())} in {run.get('precision', 'fp32')} "
            f"({run['name']}, records/{path.name}{', earlier versions of the kernels' if old else ''})")


def budget_of(exercise):
    """{"loads": 65}: the loads, stores, atomics and bytes per element that its xray_test.cpp allows
    at the default shape; {} if there is no such budget."""
    text = text_of(exercise.folder / "xray_test.cpp")
    number = r"[-+*/(). 0-9]+"
    budget = re.search(rf'register_budget\(\s*"\w+",\s*"\w+",\s*\{{((?:\s*\.(?:loads|stores|atomics|host_bytes) = {number},?)+)'
                       r'(?:\s*\.counts = \{(?:[^{}]|\{[^{}]*\})*\})?\s*\}\s*\)', text)
    terms = re.findall(rf"\.(\w+) = ({number})", budget[1]) if budget else []
    # As in C++, the quotient of whole numbers is whole.
    return {what: eval(term if "." in term else term.replace("/", "//")) for what, term in terms}


_DECLARED = re.compile(r"\b(?P<type>(?:std::)?u?int(?:32_t|64_t)?|unsigned(?: int)?|auto|(?:std::)?size_t|(?:unsigned )?long(?: long)?) (?P<name>\w+) = (?P<value>[^;]*);")
_WIDE = re.compile(r"\b(?:std::)?(?:u?int64_t|size_t|ptrdiff_t)\b|\blong\b")
_OF_A_BLOCK = re.compile(r"\bblockIdx\.[xyz]\b(?!\))")  # not yet converted
_FACTOR = r"(?:k[A-Z]\w*|blockDim\.[xyz]|gridDim\.[xyz]|\d+)"  # a factor of 32 bits
_PRODUCT = re.compile(rf"\b(blockIdx\.[xyz] \* {_FACTOR}|{_FACTOR} \* blockIdx\.[xyz](?!\)))")


# names in a declaration, or parameters
_WIDE_NAMES = re.compile(rf"(?:{_WIDE.pattern})(?: const)? ([^;(){{}}]*)")
_LOOP = re.compile(r"\bfor \((?P<type>[\w: ]+?) (?P<name>\w+) = (?P<value>[^;]*); (?P=name) "
                   r"(?:<=?|!=) (?P<bound>[^;&|]+);")
_CAST = re.compile(r"static_cast<[\w: ]+>\(.*\)")  # an explicit cast is intended


def _wide_names(text):
    return {name for found in _WIDE_NAMES.finditer(text) for name in re.findall(r"^\w+|(?<=, )\w+(?= =)", found[1])}


def _narrow(declared):
    """The bits in which a number of that declaration counts, 31 or 32; None for more."""
    kind, value = declared["type"], declared["value"]
    if kind == "auto":
        return 32 if _OF_A_BLOCK.search(value) and not _WIDE.search(value) else 31 if re.fullmatch(r"\d+", value) else None
    return None if _WIDE.search(kind) else 32 if kind.startswith("u") else 31


def _bound(loop):
    """A loop's bound without its object, so that T and args.T are the same."""
    return loop["bound"].strip().rpartition(".")[2]


def too_narrow(mine, ours):
    """A sentence about the first number of `mine` with 32 bits that has 64 in ours, or about a
    product of a block index in 32 bits if ours converts the index first; or ""."""
    declared_in_ours = list(_DECLARED.finditer(ours))
    wide = {each["name"] for each in declared_in_ours if _WIDE.search(each["type"])} - {each["name"] for each in declared_in_ours if _narrow(each)}
    counts = re.compile("|".join((r"blockIdx\.", r"\bargs\.[A-Z]\w*\b", *(rf"\b{name}\b" for name in _wide_names(mine)))))
    wide_loops = {_bound(loop) for loop in _LOOP.finditer(ours) if not _narrow(loop)}
    wide_loops -= {_bound(loop) for loop in _LOOP.finditer(ours) if _narrow(loop)}
    converts = re.search(r"int64_t>?[({]blockIdx\.", ours) and len(_PRODUCT.findall(mine)) > len(_PRODUCT.findall(ours))
    known = set(ours.splitlines())
    for number, line in enumerate(mine.splitlines(), 1):
        if line in known:
            continue
        where = f"Line {number} fails for a larger problem, which no test here can show, because "
        for declared in _DECLARED.finditer(line):
            bits = _narrow(declared)
            if declared["name"] in wide and bits and counts.search(declared["value"]) and not _CAST.fullmatch(declared["value"]):
                return (f"{where}{declared['name']} has 32 bits and overflows at {1 << bits:,}. Ours is a std::int64_t"
                        f"{', and it converts the block number before it multiplies' if 'blockIdx.' in declared['value'] else ''}.")
        for loop in _LOOP.finditer(line):
            bits = _narrow(loop)
            if bits and _bound(loop) in wide_loops:
                return (f"{where}{loop['name']} has 32 bits, and {loop['bound'].strip()} may be {1 << bits:,} or more, "
                        "which it never reaches. Ours is a std::int64_t.")
        product = _PRODUCT.search(line)
        if product and converts:
            return (f"{where}{product[1]} is a product of 32 bits, whatever it is converted to afterwards. It wraps to 0 at 4,294,967,296. "
                    "Ours converts the block number before it multiplies.")
    return ""


_CALL = re.compile(r"^\s*(cuda\w+)\(")  # a statement that ignores the returned error


def unchecked(mine, ours):
    """A sentence about the first call of the runtime in `mine` whose error is ignored, if ours
    checks each; or ""."""
    calls = [(number, found[1]) for number, line in enumerate(mine.splitlines(), 1) if (found := _CALL.match(line))]
    if not calls or any(map(_CALL.match, ours.splitlines())):
        return ""
    number, name = calls[0]
    return f"Line {number} ignores the error that {name} returns, which no test can show on a machine without faults."


_ARRAY = re.compile(r"^(?P<shared>.*__shared__)?[^=(/]*?\b\w[\w:<>]* +(?P<arrays>\w+(?:\[[^\]]*\])+(?:, *\w+(?:\[[^\]]*\])+)*);")


def _arrays(text):
    """(line number, name, whether it is in shared memory) of each array that a line declares
    without a value."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := _ARRAY.match(line.partition("//")[0].strip()):
            yield from ((number, name, bool(found["shared"])) for name in re.findall(r"(\w+)\[", re.sub(r"\[[^\]]*\]", "[]", found["arrays"])))


def own_arrays(mine, ours):
    """A sentence for each array that only `mine` has, if ours has more arrays in shared memory."""
    shared, known = ({name for _, name, is_shared in _arrays(ours) if is_shared is which} for which in (True, False))
    in_mine = [name for _, name, is_shared in _arrays(mine) if is_shared]
    lacks = len(in_mine) < len(shared)
    return [f"Line {number}: {name} is not __shared__, so each thread has an array of its own, which no other thread can read."
            for number, name, is_shared in _arrays(mine) if lacks and not is_shared and name not in known and name not in in_mine]


_EXTERN = re.compile(r"^\s*extern __shared__ [^;]*?\b(\w+)\[\];")


def without_size(mine, ours):
    """A sentence for each array of `mine` whose size comes from the launch, if no launch gives one
    and ours has no such array."""
    gives = re.search(r"<<<[^,>]+,[^,>]+,", mine) or "extern __shared__" in ours
    return [f"Line {number}: {found[1]} is extern, so its size is the third launch argument, <<<blocks, threads, bytes>>>. Without it the array has 0 bytes."
            for number, line in enumerate(mine.splitlines(), 1) if not gives and (found := _EXTERN.match(line))]


# the index of the argument that is the size
_SIZED = {"cudaMalloc": 1, "cudaMallocAsync": 1, "cudaMemcpy": 2, "cudaMemcpyAsync": 2, "cudaMemset": 2, "cudaMemsetAsync": 2}


def _arguments(text):
    """The arguments of a call, from the text after its opening parenthesis."""
    depth, arguments = 0, [""]
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return arguments
        if sign == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += sign
    return []


_OF_A_KERNEL = re.compile(r"\b__(?:global|device)__\b[^;{]*\{")
_OF_THE_HOST = re.compile(r"\b(cuda(?:Malloc|Free|Mem(?:cpy|set)|DeviceSynchronize|Stream|Event)\w*)\(")


def _lines_of_kernels(text):
    """The numbers of the lines in functions that run on the GPU."""
    numbers = set()
    for head in _OF_A_KERNEL.finditer(text):
        depth, at = 1, head.end()
        while depth and at < len(text):
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        numbers |= set(range(text.count("\n", 0, head.start()) + 1, text.count("\n", 0, at) + 2))
    return numbers


def called_by_kernels(mine, ours):
    """A sentence for each call of `mine` that the host must make, but a kernel makes."""
    inside, known, said = _lines_of_kernels(mine), set(map(str.strip, ours.splitlines())), []
    for number, line in enumerate(mine.splitlines(), 1):
        for name in _OF_THE_HOST.findall(line) if number in inside and line.strip() not in known else ():
            instead = ". The kernel's threads copy elements themselves, or by __pipeline_memcpy_async." if "cpy" in name else "."
            said.append(f"Line {number}: {name} is called in a kernel, but only the host may call it{instead}")
    return said


def counts_elements(mine, ours):
    """A sentence for each call of `mine` whose bytes look like a number of elements."""
    inside = _lines_of_kernels(mine)
    of_bytes = re.compile(r"sizeof|bytes|\b(?:" + "|".join(["char", *re.findall(r"(\w+)(?: = |\{|\()[^;]*\bsizeof\b", mine)]) + r")\b", re.IGNORECASE)
    known, said = set(map(str.strip, ours.splitlines())), []
    for number, line in enumerate(mine.splitlines(), 1):
        for name, rest in re.findall(rf"\b({'|'.join(_SIZED)})\((.*)", line) if line.strip() not in known and number not in inside else ():
            size = (_arguments(rest) + 3 * [""])[_SIZED[name]].strip()
            if size and not of_bytes.search(size):
                said.append(f"Line {number}: {name} counts bytes. Is {size} a number of elements? For floats, pass {size} * sizeof(float).")
    return said


def in_double(mine, ours, lines):
    """A sentence for the first of the `lines` of `mine` that turns a float into a double and
    differs from ours; or ""."""
    known, text = set(ours.splitlines()), mine.splitlines()
    number = next((each for each in lines if text[each - 1] not in known), None)
    if lines and number is None:  # the expression is in ours too, but a variable has another type
        number = next((at for at, line in enumerate(text, 1) if line not in known and re.search(r"\bdouble\b", line.partition("//")[0])), None)
    return number and (f"In line {number} a float becomes a double, which no test can show. A GeForce RTX multiplies and adds doubles at a "
                       "sixty-fourth of a float's rate. 2.0f is a float, 2.0 a double.") or ""


def reward(exercise, budgets):
    """One line after an exercise is solved: the learner's counts from the X-ray beside those of the
    previous step, if they differ, and what the step brought on a GPU; "" if nothing is known."""
    before = _step_before(exercise)
    needed = budget_of(before) if before and budget_of(exercise) else {}
    counts = []
    for fact in budgets:
        what = fact["what"].removeprefix("global ")
        if fact["implementation"] == _implementation(exercise) and what in needed and f"{fact['allowed']:.4g}" != f"{needed[what]:.4g}":
            counts.append(f"{fact['used']:.4g} {what[:-1] if fact['used'] == 1 else what} per {fact['per']}, {before.name} needed {needed[what]:.4g}")
    sentence = "; ".join(counts + list(filter(None, [recorded_step(exercise)])))
    return sentence[:1].upper() + sentence[1:] + "." if sentence else ""
