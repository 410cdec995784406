"""Tests that the page of each kernel that is slower than the previous one gives the reason: <!--
slower: WORDS -->, which ./ladder run shows."""
import re
import sys
import unittest

from nvcc import ROOT
from records import Records

sys.path.insert(0, str(ROOT / "tools"))
from ladder_tools import programs, rows  # noqa: E402
from ladder_tools.place import text_of  # noqa: E402

NOISE = 1.03  # a ratio up to which two kernels are equally fast


def tables():
    """(operator, precision, shape as numbers, rungs) of all tables that ./ladder run and ./ladder
    run CHAPTER print without further options."""
    for operator, precision, shape, rungs, _ in rows.story():
        yield operator, precision, {size: int(number) for size, number in re.findall(r"(\w+)=(\d+)", shape)}, rungs
    usual = {"wkv": "rwkv6-1.6b", "attention": "attention"}  # the names of the default shapes
    for operator, each in rows.operators().items():
        if each.climbed:
            shape = programs.named_shapes()[usual[operator]]
            for precision in ("fp32", "bf16"):
                yield operator, precision, shape, [rung for row in rows.rows() if row.rung for rung in rows.rungs_of(row, each.type)]


def times(records, operator, precision, shape):
    """{GPU: {implementation: seconds}}, with today's kernels' times if there are any, otherwise the
    latest."""
    found = {}
    for name, run in sorted(records.runs.items(), key=lambda each: each[1]["date"]):
        plain = not (run.get("causal") or run.get("states") or run.get("options"))
        if plain and (run["operator"], run.get("precision", "fp32"), run["shape"]) == (operator, precision, shape):
            for row in run["rows"]:
                if row["back_end"] == "cuda" and row.get("seconds"):
                    its = found.setdefault(row["device"], {})
                    old = records.is_old(name, row["implementation"])
                    if not old or its.get(row["implementation"], (True,))[0]:
                        its[row["implementation"]] = (old, row["seconds"])
    return {device: {name: seconds for name, (_, seconds) in its.items()} for device, its in found.items()}


def slower_rungs(records):
    """The kernels that are slower than the previous one on any GPU that a table may show."""
    for operator, precision, shape, rungs in tables():
        for its in times(records, operator, precision, shape).values():
            measured = [rung for rung in rungs if rung.name in its]
            yield from (rung for before, rung in zip(measured, measured[1:]) if its[rung.name] > NOISE * its[before.name])


def words_of(rung):
    found = re.search(r"^<!-- slower: (.*) -->$", text_of(f"{rung.source.rpartition('/')[0]}/README.md"), re.MULTILINE)
    return found[1].split() if found else []


class Slower(unittest.TestCase):
    def test_each_says_why_in_at_most_six_words(self):
        found = list(slower_rungs(Records(ROOT)))
        self.assertIn("attention_row_per_warp", {rung.name for rung in found})
        for rung in found:
            self.assertTrue(words_of(rung), f"{rung.source}: {rung.name} takes longer than the rung before it: its page needs <!-- slower: WORDS -->")
            self.assertLessEqual(len(words_of(rung)), 6, f"{rung.source}: {' '.join(words_of(rung))}")
