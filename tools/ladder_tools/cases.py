"""The cases of an operator's tests by their names: which one is looked at first, and what those that fail have in common."""
import itertools
import math
import re


_PHRASES = ("no_decay", "one_total_token", "per_head", "from_state", "to_state", "key_lengths")  # options of several words


def sizes_of(name):
    """[("B", 2), ("T", 37)] and the options of a test's case: MatchesReference/B2_T37_mild_per_head has "mild" and "per head"."""
    text = re.sub("_packed(_[0-9]+)+", "_packed", name.partition("MatchesReference/")[2])
    for phrase in _PHRASES:
        text = text.replace(phrase, phrase.replace("_", " "))
    sizes, words = [], []
    for word in text.split("_"):
        size = re.fullmatch(r"([A-Z])([a-z]*)([0-9]+)", word)
        if size:  # Tq37 is T_q
            sizes.append((f"{size[1]}_{size[2]}" if size[2] else size[1], int(size[3])))
        elif word:
            words.append(word)
    return sizes, words


def size_of(name):
    """The product of its case's sizes."""
    return math.prod(size for _, size in sizes_of(name)[0])


def smallest_case(names):
    """The smallest of the cases that have the fewest options: fp32, a mild decay, at least 9 steps; None if no test is called so."""
    found = []
    for name in names:
        sizes, words = sizes_of(name)
        if sizes and all(size >= 9 for axis, size in sizes if axis.startswith("T")):
            found.append((sum(word != "mild" for word in words), size_of(name), name))
    return min(found)[2] if found else None


def first_tests(names):
    """Filters of the tests that a wrong result is looked at in first: the plain cases, then a small one, where a guard may be missing."""
    plain = [name for name in names if name.endswith("PlainCase")]
    smallest = smallest_case(names)
    return ([":".join(plain)] if plain else []) + ([smallest] if smallest else [])


def _relations(one, other):
    return [(f"{one} > {other}", lambda a, b: a > b), (f"{one} < {other}", lambda a, b: a < b), (f"{one} = {other}", lambda a, b: a == b),
            (f"{one} is not {other}", lambda a, b: a != b)]


def _rules(cases):
    """[(words, whether a case is one of these)], the plainest first."""
    options = sorted({word for _, words in cases for word in words})
    rules = [(f"with {option}", lambda sizes, words, option=option: option in words) for option in options]
    rules += [(f"without {option}", lambda sizes, words, option=option: option not in words) for option in options]
    axes = list(dict.fromkeys(axis for sizes, _ in cases for axis in sizes))
    axes = [axis for axis in axes if all(axis in sizes for sizes, _ in cases)]
    for one, other in itertools.combinations(axes, 2):
        rules += [(text, lambda sizes, words, holds=holds, one=one, other=other: holds(sizes[one], sizes[other]))
                  for text, holds in _relations(one, other)]
    for axis in axes:
        values = sorted({sizes[axis] for sizes, _ in cases})
        rules += [(f"where {axis} is no multiple of {of}", lambda sizes, words, axis=axis, of=of: sizes[axis] % of != 0)
                  for of in (2, 4, 8, 16, 32, 64, 128)]
        rules += [(f"where {axis} is at least {value}", lambda sizes, words, axis=axis, value=value: sizes[axis] >= value) for value in values[1:]]
        rules += [(f"where {axis} is at most {value}", lambda sizes, words, axis=axis, value=value: sizes[axis] <= value) for value in values[:-1]]
    return [(text if text.startswith("w") else f"where {text}", holds) for text, holds in rules]


def what_fails(passed, failed):
    """"wrong in 12 of 80 cases: all those where K > V", from the names of tests; without a rule where none is exact, with two where several are."""
    def read(names):
        return [(dict(sizes), set(words)) for sizes, words in map(sizes_of, names) if sizes]
    right, wrong = read(passed), read(failed)
    if not wrong or not right:
        return ""
    text = f"wrong in {len(wrong)} of {len(wrong) + len(right)} cases"
    if min(len(wrong), len(right)) < 3:
        return text
    rules = [(words, holds) for words, holds in _rules(right + wrong) if all(holds(*case) for case in wrong)]
    found = [words for words, holds in rules if not any(holds(*case) for case in right)]
    if not found:  # two together
        of_options = [(words, holds) for words, holds in rules if words.startswith("with")]
        found = [f"{one} and {other}" for (one, is_one), (other, is_other) in itertools.combinations(of_options, 2)
                 if not any(is_one(*case) and is_other(*case) for case in right)][:1]
    return f"{text}: all those {' (or: '.join(found[:2])}{')' if len(found) > 1 else ''}" if found else text


def plainest(names):
    """Of cases that fail the one to look at: without options if there is one, with columns for all its steps, small."""
    def rank(name):
        sizes, words = sizes_of(name)
        by_axis = dict(sizes)
        steps = max((size for axis, size in sizes if axis.startswith("T")), default=0)
        return sum(word != "mild" for word in words), steps > by_axis.get("V", by_axis.get("D", steps)), size_of(name)
    return min(names, key=rank)
