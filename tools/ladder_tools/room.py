"""./ladder room shows where each person is, and which mistakes most have, from copies of their
progress files. It reads files and does nothing else."""
import collections
import functools
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ladder_tools.learning import next_exercise
from ladder_tools.patches import header
from ladder_tools.place import Refused, bosses, exercises, mistakes, refused, text_of
from ladder_tools.progress import CHECKS

_SOLVED = ".solved.json"
_LARGEST = 2**20  # bytes of a progress file
_MOST_MISTAKES = 10
_LONGEST = 160  # characters of a mistake's words


class Unreadable(Exception):
    """A person's file that holds something else."""


@functools.cache
def _known():
    """The names of all exercises of this tree. Another version's names are left out."""
    return {each.name for kind in ("exercise", "scratch") for each in exercises(kind)} | set(
        bosses()
    )


@dataclass
class Person:
    name: str
    days: dict = field(default_factory=dict)  # {exercise: the day it was solved}
    checks: dict = field(default_factory=dict)  # as in my/.checks.json

    def last(self):
        """(exercise, its last check) of the latest check, or (None, None)."""
        dated = [
            (each["last"]["when"], name)
            for name, each in self.checks.items()
            if each["last"]["when"]
        ]
        return (max(dated)[1], self.checks[max(dated)[1]]["last"]) if dated else (None, None)

    def at(self):
        """The exercise at which the person is: that of the latest check, or the next one if that
        is solved; None if all are solved."""
        name, last = self.last()
        return name if last and not last["solved"] else next_exercise(name, self.days)


def _plain(text, most=_LONGEST):
    """A string from somebody's file, without the control characters that a terminal obeys."""
    text = "".join(letter for letter in text if letter.isprintable())
    return text if len(text) <= most else text[: most - 3] + "..."


def _json_of(path):
    try:
        if path.stat().st_size > _LARGEST:
            raise Unreadable(
                f"{path} has {path.stat().st_size} bytes; a progress file has at most {_LARGEST}"
            )
        found = json.loads(path.read_text())
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is no text") from None
    except RecursionError:
        raise Unreadable(f"{path} is no JSON that a check has written") from None
    except ValueError as error:
        raise Unreadable(f"{path} is no JSON: {error}") from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read ({error.strerror})") from None
    if not isinstance(found, dict):
        raise Unreadable(f"{path} holds no JSON object")
    return found


def _days_in(found, path):
    for name, day in found.items():
        if not (isinstance(day, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day)):
            raise Unreadable(
                f"{path}: {_plain(name)} is {_plain(json.dumps(day))}; allowed: the day on which it"
                ' was solved, such as "2026-11-22"'
            )
    return found


def _checks_in(found, path):
    def require(holds, name, what):
        if not holds:
            raise Unreadable(f"{path}: {_plain(name)} has no {what} as ./ladder exercise writes it")

    kept = {}
    for name, each in found.items():
        require(isinstance(each, dict) and isinstance(each.get("last"), dict), name, "last check")
        last = each["last"]
        require(
            isinstance(last.get("solved"), bool)
            and all(isinstance(last.get(key, ""), str) for key in ("when", "mistake", "hole")),
            name,
            "last check",
        )
        counted = each.get("mistakes", {})
        numbers = [each.get("checks"), *(counted.values() if isinstance(counted, dict) else [None])]
        require(
            all(type(number) is int and 0 <= number < 10**9 for number in numbers),
            name,
            "number of checks",
        )
        kept[name] = {
            "checks": each["checks"],
            "last": {
                "when": _plain(last.get("when", ""), 25),
                "solved": last["solved"],
                "mistake": _plain(last.get("mistake", "")),
                "hole": _plain(last.get("hole", ""), 3),
            },
            "mistakes": {_plain(words): count for words, count in counted.items()},
        }
    return {name: each for name, each in kept.items() if name in _known()}


def person_of(path, name=None):
    """The Person of a folder (the tree, its my/, or a copy of either) or of a file that learn
    --json has written, or a .solved.json or .checks.json."""
    path = Path(path)
    name = name or name_of(path)
    if path.is_dir():
        folder = path / "my" if (path / "my").is_dir() else path
        files = folder / _SOLVED, folder / CHECKS.name
        if (
            not any(file.exists() for file in files)
            and folder == path
            and not any(re.match("[0-9]{2}_", each.name) for each in folder.iterdir())
        ):
            raise Unreadable(
                f"{path} has neither {_SOLVED} nor {CHECKS.name}, nor a folder my/ with them"
            )
        days, checks = (_json_of(file) if file.exists() else {} for file in files)
        return Person(name, _days_in(days, files[0]), _checks_in(checks, files[1]))
    if not path.exists():
        raise Unreadable(f"{path} does not exist")
    found = _json_of(path)
    if found.get("schema") == "kernel-ladder/learn/1":
        try:
            days = {
                each: day
                for row in found["lessons"]
                for each, day in {row["name"]: row["solved"], **row["more"]}.items()
                if day is not None
            }
            return Person(name, _days_in(days, path), _checks_in(found["checks"], path))
        except (AttributeError, KeyError, TypeError):
            raise Unreadable(f"{path} is not as ./ladder learn --json writes it") from None
    if any(isinstance(each, dict) for each in found.values()):
        return Person(name, {}, _checks_in(found, path))
    return Person(name, _days_in(found, path))


def name_of(path):
    """The person's name, from the name of the folder or file: anna for anna/, anna/my/ and
    anna.json."""
    parts = [
        part
        for part in Path(path).absolute().parts
        if part not in ("my", "kernel-ladder", _SOLVED, CHECKS.name)
    ]
    return _plain(parts[-1].removesuffix(".json"), 30)


def shown_by(exercise, words):
    """The command that shows this mistake, if it is one of the lesson's planted ones; or ""."""
    lesson = exercise.removesuffix(".scratch")
    for name, patch in mistakes().items():
        diagnosis = header(text_of(patch), "diagnosis")
        if name.startswith(f"{lesson}.") and "/" not in name and diagnosis and diagnosis in words:
            return f"./ladder exercise {lesson} --mistake {name.removeprefix(f'{lesson}.')}"
    return ""


def summary(people, problems=()):
    """What the room's table shows, as docs/room_json.md describes it."""
    rows, counts = [], collections.defaultdict(lambda: [0, 0])
    for person in people:
        at, (_, last) = person.at(), person.last()
        now = person.checks.get(at)
        rows.append(
            {
                "name": person.name,
                "solved": sum(name in _known() for name in person.days),
                "at": at,
                "checks": now["checks"] if now else 0,
                "hole": now["last"]["hole"] if now else "",
                "mistake": now["last"]["mistake"] if now else "",
                "last_check": last["when"] if last else "",
            }
        )
        for name, each in person.checks.items():
            for words, count in each["mistakes"].items():
                counts[name, words][0] += 1
                counts[name, words][1] += count
    frequent = sorted(counts.items(), key=lambda each: (-each[1][0], -each[1][1], each[0]))
    return {
        "schema": "kernel-ladder/room/1",
        "people": rows,
        "at": dict(collections.Counter(row["at"] or "the end" for row in rows).most_common()),
        "mistakes": [
            {
                "exercise": name,
                "mistake": words,
                "people": number,
                "checks": count,
                "shown_by": shown_by(name, words),
            }
            for (name, words), (number, count) in frequent
        ],
        "problems": list(problems),
    }


def _table(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows
    ]


def _print(found):
    rows = [("person", "solved", "is at", "hole", "checks", "last check", "last mistake there")]
    rows += [
        (
            row["name"],
            str(row["solved"]),
            row["at"] or "the end",
            row["hole"],
            str(row["checks"] or ""),
            row["last_check"][:16].replace("T", " "),
            row["mistake"],
        )
        for row in found["people"]
    ]
    print("\n".join(_table(rows)))
    print(
        "\nWhere people are: "
        + ", ".join(f"{name} ({count})" for name, count in found["at"].items())
    )
    if not found["mistakes"]:
        print("No check has named a mistake yet.")
        return
    print("\nThe most frequent mistakes:")
    for each in found["mistakes"][:_MOST_MISTAKES]:
        people, checks = each["people"], each["checks"]
        print(
            f"  {people} {'person' if people == 1 else 'people'},"
            f" {checks} check{'' if checks == 1 else 's'}, {_plain(each['exercise'], 40)}:"
            f" {each['mistake']}"
        )
        if each["shown_by"]:
            print(f"      to show it: {each['shown_by']}")


def arguments_of_room(words):
    """(the folders and files, whether --json is given)"""
    for word in words:
        if word.startswith("-") and word != "--json":
            raise refused("option", word, ("--json",))
    found = [word for word in words if word != "--json"]
    if not found:
        raise Refused(
            "room takes folders or files, one per person; allowed: copies of my/, or what ./ladder"
            " learn --json has written"
        )
    return found, "--json" in words


def room(words, preset, caller):
    del preset
    paths, as_json = arguments_of_room(words)
    people, problems = [], []
    named = collections.Counter(name_of(Path(caller) / path) for path in paths)
    for path in paths:
        name = name_of(Path(caller) / path)
        try:
            people.append(
                person_of(Path(caller) / path, name if named[name] == 1 else _plain(path, 30))
            )
        except Unreadable as problem:
            problems.append(str(problem))
    people.sort(key=lambda person: person.name)
    found = summary(people, problems)
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    elif people:
        _print(found)
    for problem in problems:
        print(f"ladder: {problem}; this person is left out", file=sys.stderr)
    return 1 if problems else 0
