"""The cases of an operator's tests: which one to show first, and what the failing ones have in
common."""
import collections
import itertools
import math
import re


def sizes_of(test):
    """[("B", 2), ("T", 37)] and ["reverse", "bf16"], the options of a test's case; fp32 is
    omitted."""
    sizes, options, storage = (test.case.split("; ") + ["", "", ""])[:3]
    words = [word for word in options.split(", ") if word] + ([storage] if storage not in ("", "fp32") else [])
    return [(axis, int(size)) for axis, _, size in (each.partition("=") for each in sizes.split(", ") if each)], words


def size_of(name):
    """The product of its case's sizes."""
    return math.prod(size for _, size in sizes_of(name)[0])


_LARGEST = 8_000_000  # a learner waits for cases up to this product of sizes
_LARGE = 2_000_000


def without_large_repeats(names):
    """Without all but the two smallest of the large cases with the same channels, K and V or D. The
    others differ in steps or options, which small cases cover."""
    seen, left_out = collections.Counter(), set()
    for name in sorted(names, key=size_of):
        channels = tuple(size for size in sizes_of(name)[0] if size[0][0] not in "BTH")
        seen[channels] += size_of(name) > _LARGE
        if seen[channels] > 2 or size_of(name) > _LARGEST:
            left_out.add(name)
    return [name for name in names if name not in left_out]


def smallest_case(names):
    """The smallest case with the fewest options and at least 9 steps; None if there is none."""
    found = []
    for name in names:
        sizes, words = sizes_of(name)
        if sizes and all(size >= 9 for axis, size in sizes if axis.startswith("T")):
            found.append((len(words), size_of(name), name))
    return min(found)[2] if found else None


def first_tests(names):
    """Filters of the tests that examine a wrong result first: the plain cases, then a small one, in
    which a guard may be missing."""
    plain = [name for name in names if name.endswith("PlainCase")]
    smallest = smallest_case(names)
    return ([":".join(plain)] if plain else []) + ([smallest] if smallest else [])


def _relations(one, other):
    return [(f"{one} > {other}", lambda a, b: a > b), (f"{one} < {other}", lambda a, b: a < b), (f"{one} = {other}", lambda a, b: a == b),
            (f"{one} is not {other}", lambda a, b: a != b)]


def _rules(cases):
    """[(words, a test whether a case is one of these)], the simplest first."""
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
        rules += [(f"where {axis} is not a multiple of {of}", lambda sizes, words, axis=axis, of=of: sizes[axis] % of != 0)
                  for of in (2, 4, 8, 16, 32, 64, 128)]
        rules += [(f"where {axis} is at least {value}", lambda sizes, words, axis=axis, value=value: sizes[axis] >= value) for value in values[1:]]
        rules += [(f"where {axis} is at most {value}", lambda sizes, words, axis=axis, value=value: sizes[axis] <= value) for value in values[:-1]]
    # batches and heads come last, because lists choose them by the length
    rules.sort(key=lambda rule: bool(re.search(r"\b[BH]\b|\bH_", rule[0])))
    return [(text if text.startswith("w") else f"where {text}", holds) for text, holds in rules]


def what_fails(passed, failed):
    """"wrong in 12 of 80 cases: all those where K > V", from tests. No rule if none is exact, two
    if several are."""
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
    if not found:  # a pair of options
        of_options = [(words, holds) for words, holds in rules if words.startswith("with")]
        found = [f"{one} and {other}" for (one, is_one), (other, is_other) in itertools.combinations(of_options, 2)
                 if not any(is_one(*case) and is_other(*case) for case in right)][:1]
    return f"{text}: all those {' (or: '.join(found[:2])}{')' if len(found) > 1 else ''}" if found else text


def plainest(names):
    """The failing case to show: the fewest options, then no more steps than columns, then the
    smallest."""
    def rank(name):
        sizes, words = sizes_of(name)
        by_axis = dict(sizes)
        steps = max((size for axis, size in sizes if axis.startswith("T")), default=0)
        return len(words), steps > by_axis.get("V", by_axis.get("D", steps)), size_of(name)
    return min(names, key=rank)
