"""./ladder exercise checks the learner's solution."""
import re
import subprocess
import sys
import time

from ladder_tools.boss import boss
from ladder_tools.building import Build, require_writable, say
from ladder_tools.checking import began_with_ours, build_ahead, how_to_compare, introduce, seconds_allowed
from ladder_tools.drawing import check_and_draw, look, mistake_of, page_of, require_drawable
from ladder_tools.hints import Hints
from ladder_tools.learning import more_of, next_exercise, note_solved, solved
from ladder_tools.patches import under_head_of
from ladder_tools.place import ROOT, Refused, exercise_of, exercises, idea_of, place_of, refused, text_of
from ladder_tools.progress import heard, note_check

_ACTIONS = ("--hint", "--reset", "--solution", "--start-from-ours", "--watch", "--mistake")


class Arguments:
    def __init__(self, words):
        name, self.action, self.hole, mistake, self.draws = "", "check", "", "", False
        words = iter(words)
        for word in words:
            # --hint 04.00.1 names the lesson and its hole.
            parts = re.fullmatch(r"(.+\..+)\.([1-9])", word)
            if self.action == "hint" and not name and parts:
                name, self.hole = parts.groups()
            elif self.action == "hint" and name and not self.hole and re.fullmatch("[1-9]", word):
                self.hole = word
            elif word in _ACTIONS:
                if self.action != "check":
                    raise Refused(f"exercise takes one of {', '.join(_ACTIONS)}, once")
                self.action = word[2:]
                mistake = next(words, "") if self.action == "mistake" else ""
            elif word == "--draw":
                self.draws = True
            elif word.startswith("-"):
                raise refused("option", word, ("--draw", *_ACTIONS))
            elif name:
                raise Refused(f"exercise takes one name, not '{name}' and '{word}'")
            else:
                name = word
        self.name = name
        if not self.name:
            self.name = next_exercise() or exercises()[-1].name
            say(f"{self.name} is the next exercise  (./ladder learn shows them all)")
        self.exercise = mistake_of(self.name, mistake) if self.action == "mistake" else exercise_of(self.name)
        if self.draws:
            if self.action not in ("check", "mistake"):
                raise Refused(f"--draw goes with a check or with --mistake, not with --{self.action}")
            require_drawable(self.exercise)
        if self.hole and self.hole not in self.exercise.holes():
            raise Refused(f"hole is '{self.hole}'; allowed for {self.exercise.name}: {' '.join(self.exercise.holes())}")


def _write(text, exercise):
    require_writable("my")
    (ROOT / exercise.mine).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / exercise.mine).write_text(text)


def fresh(exercise):
    """A new copy's text and its description. It is the stub, or, in an exercise that continues a
    lesson which the learner has solved, their own kernel."""
    stub = exercise.text
    before = next((each for each in exercises() if each.solution == exercise.begins_with), None)
    if before and before.name in solved() and (ROOT / before.mine).exists():
        return under_head_of(stub, text_of(before.mine)), f"your own kernel of {before.name}, renamed for this lesson"
    return stub, f"our kernel of {before.name}, renamed for this lesson" if before else "your copy of the stub"


def begin(exercise):
    """Writes the learner's copy if there is none. Whether there was none."""
    if (ROOT / exercise.mine).exists():
        return False
    text, what = fresh(exercise)
    _write(text, exercise)
    say(f"{exercise.mine} is {what}")
    return True


# The number of each stub's first hole before chapters had lessons, as in TODO(07.3).
_BEFORE_LESSONS = {"01.01_linear_attention": 3, "02.06_linear_attention": 3, "03.01_causal_dot_product": 2, "06.03_fused_recurrent": 3,
                   "07.02_chunk_walk": 1, "07.05_gla_steps": 3, "08.02_online_softmax": 1, "08.08_pipelined": 2, "08.20_split_keys": 3}


def bring_up_to_date(exercise):
    """Moves a learner's copy from before the lessons to its lesson, and renumbers its holes:
    TODO(1)."""
    before, mine = exercise.mine, ROOT / exercise.mine
    if exercise.name in _BEFORE_LESSONS:
        folder = ROOT / "my" / exercise.folder.parts[0]
        idea = idea_of(exercise.folder.name)
        name = "exercise" if exercise.name == "08.08_pipelined" else f"{idea}_exercise"
        before = folder.relative_to(ROOT) / f"{name}{exercise.stub.suffix}"
        if (ROOT / before).exists() and not mine.exists():
            mine.parent.mkdir(parents=True, exist_ok=True)
            (ROOT / before).rename(mine)
            say(f"{before} has moved to {exercise.mine}")
    if not mine.exists():
        return
    text, first = mine.read_text(errors="replace"), _BEFORE_LESSONS.get(exercise.name, 1)
    todays = re.sub(r"TODO\([0-9]{2}\.([0-9]+)\)", lambda old: f"TODO({int(old[1]) - first + 1})", text)
    todays = re.sub(r"TODO\([0-9]{2}\.[0-9]{2}\.([0-9]+)\)", r"TODO(\1)", todays)
    if todays != text:
        mine.write_text(todays)


def keep(exercise):
    """Moves the learner's file to a backup if it differs from a new copy."""
    require_writable("my")
    mine = ROOT / exercise.mine
    if mine.exists() and text_of(exercise.mine) != fresh(exercise)[0]:
        backup, number = exercise.mine.with_name(mine.name + ".bak"), 2
        while (ROOT / backup).exists():
            backup, number = exercise.mine.with_name(f"{mine.name}.bak{number}"), number + 1
        mine.rename(ROOT / backup)
        say(f"your old file is kept as {backup}")


def reset(exercise):
    keep(exercise)
    Hints(exercise).forget()
    began_with_ours(exercise).unlink(missing_ok=True)
    note_solved(exercise.name, False)
    (ROOT / exercise.mine).unlink(missing_ok=True)
    begin(exercise)


def start_from_ours(exercise):
    """The learner's copy becomes our solution, for readers who join late."""
    keep(exercise)
    _write(text_of(exercise.solution), exercise)
    began_with_ours(exercise).touch()
    say(f"{exercise.mine} is now our solution; change it and run the tests, or go on with the next lesson")


def _ask_boss(name, command):
    """Shows the lesson's broken kernel and reads answers until one is right or empty."""
    subprocess.run([*command, name], cwd=ROOT)
    while name not in solved():
        try:
            answer = input("LINE REASON (empty to go on): ").split()
        except EOFError:
            answer = []
        if not answer:
            return
        subprocess.run([*command, name, *answer], cwd=ROOT)


def _following(exercise, command):
    """The next exercise to watch: the rest of the lesson, then the next lesson; None after the last
    one."""
    for name in more_of(exercise.lesson):
        if name.endswith(".boss") and name not in solved():
            _ask_boss(name, command)
        elif name not in (exercise.name, *solved()):
            return exercise_of(name)
    name = next_exercise(exercise.name)
    return exercise_of(name) if name else None


def watch(exercise, preset, caller):
    """Checks whenever the file is saved, and goes on when it is solved. Each check is a process of
    its own, so another terminal may work between two checks. Compares the file's time, which works
    over ssh and in containers too."""
    # a solved one is watched again, and the loop stays with it
    seen, again = None, exercise.name in solved()
    command = [sys.executable, sys.argv[0], preset, caller, "exercise"]
    while True:
        mine = ROOT / exercise.mine
        begin(exercise)
        if mine.stat().st_mtime_ns == seen:
            time.sleep(0.3)
            continue
        seen = mine.stat().st_mtime_ns
        if sys.stdout.isatty():
            # clears the report of the previous version
            print("\033[H\033[2J\033[3J", end="", flush=True)
        status = subprocess.run([*command, exercise.name], cwd=ROOT).returncode
        if status == 0 and not again:
            exercise = _following(exercise, command)
            if exercise is None:
                return 0
            begin(exercise)
            introduce(exercise)
            seen = (ROOT / exercise.mine).stat().st_mtime_ns
        say(f"watching {exercise.mine}; save it to check it again (Ctrl-C ends)")


def exercise(words, preset, caller):
    if words and words[0].endswith(".boss"):
        return boss(words, preset)
    arguments = Arguments(words)
    one = arguments.exercise
    seconds_allowed(one)
    page = page_of(one) if arguments.draws else None
    if arguments.action == "mistake":
        return 0 if look(one, Build(preset), page) else 1
    bring_up_to_date(one)
    if arguments.action == "watch":
        return watch(one, preset, caller)
    if arguments.action != "check":
        {"solution": lambda: print(how_to_compare(one)), "reset": lambda: reset(one), "start-from-ours": lambda: start_from_ours(one),
         "hint": lambda: (begin(one), Hints(one).give(arguments.hole))}[arguments.action]()
        return 0
    began = begin(one)
    others = [each.name for each in exercises() if each.folder.parts[0] == one.folder.parts[0] and each.name != one.name]
    if len(one.folder.parts) > 1 and place_of(arguments.name.removesuffix(".scratch")).lesson is None:
        say(f"{arguments.name} has no exercise of its own; this is {one.name}, its first one" + (f"; also {' '.join(others)}" if others else ""))
    if page is None and text_of(one.mine) == fresh(one)[0]:
        introduce(one)
        build_ahead(one, Build(preset))
        print("Built. " + (f"Now change {one.mine}." if one.begins_with else f"Now write {one.piece} {one.first_todo()[0]}."))
        return 1
    if not began:
        say(f"checking {one.mine}")
    with heard() as said:
        is_solved = check_and_draw(one, Build(preset), page)
    note_check(one.name, said.text, is_solved, Hints(one).first_red())
    return 0 if is_solved else 1
