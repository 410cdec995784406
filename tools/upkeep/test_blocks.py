"""Tests of the blocks rendered from records/."""
import json
import re
import unittest
from pathlib import Path

import blocks
import check_links
import pictures
import render
from for_tests import InAFolder
from ladder_tools.place import Refused
from ladder_tools.recorded import RUNS, as_rows, runs
from records import Missing, Records, add, duration, durations, factor, scientific, three_digits, xray_counts, xray_sites

RUN = {"operator": "wkv", "precision": "fp32", "date": "2026-01-02", "conditions": {"commit": "abc1234"}, "fma_count": 5e11, "bytes": 4e8,
       "ceilings": [{"device": "NVIDIA X", "fma_per_second": 28e12, "bytes_per_second": 4e12}],
       "rows": [{"implementation": "slow", "back_end": "cuda", "source": "a.cu", "code": "now", "seconds": 0.02702, "error": 1.28e-7},
                {"implementation": "fast", "back_end": "cuda", "source": "b.cu", "code": "then", "seconds": 2.27e-4, "sustained_seconds": 2.33e-4,
                 "bound_seconds": 1.5757e-4}]}


def compared(date, seconds, code="then", **more):
    return {"schema": "kernel-ladder/compare/1", "conditions": {"commit": "abc1234", "date": date},
            "cases": [{"name": "case", "operations": 4e8, "bytes": 1e9, "rows": [
                {"name": "fast", "ours": True, "code": code, "errors": {"o": 2.93e-3}, "burst": {"seconds": seconds}, "sustained": {"seconds": 2.48e-4}, "whole": None},
                {"name": "Their, kernel", "ours": False, "errors": {"dq": 1e-3, "dk": 2e-3}, "burst": {"seconds": 1.72e-3},
                 "sustained": {"seconds": 1.72e-3}, "whole": None}]}], **more}


class WithRecords(InAFolder):
    def records(self, **files):
        files = {"run": RUN, "kernels": {"schema": "kernel-ladder/kernels/2", "launched": [{"name": "run", "code": {"slow": "now", "fast": "now"}}, {"name": "case", "code": {"fast": "now"}}]}, **files}
        files["runs"] = {"schema": RUNS, "runs": [{"name": name, **files.pop(name)} for name in [*files] if "schema" not in files[name]]}
        self.write({f"records/{name}.json": json.dumps(document) for name, document in files.items()})
        return Records(self.root)

    def definitions(self, records=None, **texts):
        self.write({blocks.FOLDER / f"{name.replace('__', '.')}.txt": text + "\n" for name, text in texts.items()})
        return blocks.Definitions(self.root, records or self.records())


class Numbers(unittest.TestCase):
    def test_three_digits_keep_their_zeros(self):
        for value, text in {27.0199: "27.0", 0.2340: "0.234", 482.003: "482", 3.0: "3.00", 99.96: "100", 1234: "1234", 0.087: "0.0870", 0: "0", 9.996: "10.0"}.items():
            self.assertEqual(three_digits(value), text)

    def test_times_have_the_unit_that_fits(self):
        self.assertEqual([duration(each) for each in (0.4820, 2.27e-4, 9.9996e-4, 1.5, 3.23e-6)], ["482 ms", "227 us", "1.00 ms", "1.50 s", "3.23 us"])
        self.assertEqual(durations([9.53e-4, 1.53e-3]), "0.953 / 1.53 ms")

    def test_factors_and_errors(self):
        self.assertEqual([factor(7.54), factor(117.3)], ["7.54x", "117x"])
        self.assertEqual(scientific(2.93e-3), "2.9e-3")


class Values(WithRecords):
    def test_of_a_run(self):
        records = self.records()
        for field, text in {"": "227 us", "sustained": "233 us", "both": "227 / 233 us", "of bound": "69.4 %", "TFLOP/s": "4405", "vs slow": "119x"}.items():
            self.assertEqual(records.value("run", "fast", field), text, field)
        self.assertEqual(records.value("run", "slow", "error"), "1.3e-7")
        self.assertEqual(records.value("run", "conditions", ""), "commit abc1234, 2026-01-02")

    def test_of_a_comparison(self):
        records = self.records(h200_compare_a=compared("2026-01-02", 2.28e-4))
        for row, field, text in (("fast", "", "228 / 248 us"), ("fast", "error", "2.9e-3"), ("fast", "vs Their, kernel", "7.54x"), ("fast", "of Their, kernel", "754 %"),
                                 ("fast", "TB/s", "4.39 / 4.03"),
                                 ("Their, kernel", "error", "2.0e-3"), ("Their, kernel", "burst", "1.72 ms")):
            self.assertEqual(records.value("case", row, field), text)

    def test_the_youngest_of_two_comparisons_counts(self):
        records = self.records(h200_compare_a=compared("2026-01-03", 2e-4), h200_compare_b=compared("2026-01-02", 3e-4))
        self.assertEqual(records.value("case", "fast", "burst"), "200 us")

    def test_one_with_todays_kernels_counts_more_than_a_younger_one(self):
        records = self.records(h200_compare_a=compared("2026-01-01", 2e-4, "now"), h200_compare_b=compared("2026-01-02", 3e-4))
        self.assertEqual(records.value("case", "fast", "burst"), "200 us")

    def test_what_was_not_recorded_is_missing(self):
        records = self.records()
        for name, row, field in (("none", "fast", ""), ("run", "none", ""), ("run", "slow", "sustained")):
            with self.assertRaises(Missing):
                records.value(name, row, field)
        with self.assertRaisesRegex(ValueError, "allowed: time"):
            records.value("run", "slow", "colour")

    def test_what_cannot_be_is_refused(self):
        with self.assertRaisesRegex(ValueError, "runs.json: fast took 227 us, less than its bound of 300 us"):
            self.records(run={**RUN, "rows": [RUN["rows"][0], RUN["rows"][1] | {"bound_seconds": 3e-4}]})

    def test_a_run_has_a_name_of_its_own(self):
        for runs in ([RUN], [{"name": "run", **RUN}]):
            with self.assertRaisesRegex(ValueError, "a run's name is '(run)?'; allowed: one that no other run has"):
                self.records(more={"schema": RUNS, "runs": runs})

    def test_runs_are_put_into_the_file_of_their_operator_and_machine(self):
        self.write({"h1_b.json": as_rows({"schema": RUNS, "runs": [RUN]}), "h1_a.json": json.dumps({"schema": RUNS, "runs": [RUN, {**RUN, "operator": "gla"}]})})
        (self.root / "records").mkdir()
        add([self.root / "h1_b.json", self.root / "h1_a.json", self.root / "h1_b.json"], self.root / "records")
        found = [(path.name, run["name"], len(run["rows"])) for path, run in runs(self.root / "records")]
        self.assertEqual(found, [("h1_gla.json", "h1_a_gla_fp32", 2), ("h1_wkv.json", "h1_a_wkv_fp32", 2), ("h1_wkv.json", "h1_b", 2)])
        # four elements, the ends of three lists, and the head
        self.assertEqual((self.root / "records/h1_gla.json").read_text().count("\n"), 8)
        self.write({"other.json": "{}", "h1_c.json": "[1"})
        for name in ("h1_c.json", "other.json"):
            with self.assertRaises(ValueError):
                add([self.root / name], self.root / "records")

    def test_knows_the_kernels_that_have_changed(self):
        records = self.records(h200_compare_a=compared("2026-01-02", 2e-4))
        self.assertFalse(records.is_old("run", "slow"))
        self.assertTrue(records.is_old("run", "fast"))
        self.assertTrue(records.is_old("case", "fast"))
        self.assertFalse(records.is_old("case", "Their, kernel"))


class Blocks(WithRecords):

    def page(self, name, text="old\n"):
        return f"before\n<!-- table: {name} -->\n{text}<!-- end -->\nafter\n"

    def test_are_rendered_and_the_rest_is_kept(self):
        records, definitions = self.records(), self.definitions(a="@r = run\n| slow | {{r : slow}} |")
        page = blocks.rendered(self.page("a"), records, definitions)
        self.assertEqual(page, self.page("a", "| slow | 27.0\u00a0ms |\n\n"))
        self.assertEqual(blocks.rendered(page, records, definitions), page)

    def test_without_a_definition_are_a_transcribed_table_or_wrong(self):
        records = self.records(transcribed=TABLES)
        definitions = self.definitions(records)
        self.assertIn("\n| as it is | 6.26 ms | |\n", blocks.rendered(self.page("tried"), records, definitions))
        with self.assertRaisesRegex(blocks.Wrong, "no table is called none"):
            blocks.rendered(self.page("none"), records, definitions)

    def test_of_no_page_are_known(self):
        definitions = self.definitions(a="x", b="x", a__de="x = y", b__de="x = z")
        blocks.rendered(self.page("a"), self.records(), definitions)
        self.assertEqual(definitions.unused(), ["a.de", "b", "b.de"])

    def test_are_translated_in_pages_of_that_language(self):
        definitions = self.definitions(a="| {{run : slow}} on one | two |", a__de="}} on one = }} auf einem\ntwo = zwei", b="x", b__de="none = y")
        page = blocks.rendered(self.page("a"), self.records(), definitions, blocks.language_of("README.de.md"))
        self.assertIn("| 27.0\u00a0ms auf einem | zwei |", page)
        self.assertEqual([blocks.language_of(each) for each in ("README.md", "a/README.zh-CN.md")], ["", "zh-CN"])
        with self.assertRaisesRegex(blocks.Wrong, "b.de translates 'none', which b does not say"):
            blocks.rendered(self.page("b"), self.records(), definitions, "de")

    def test_say_what_is_old(self):
        self.assertIn("227\u00a0us°\n\n° 在提交 abc1234", blocks.render("{{run : fast}}", self.records(), "zh-CN"))
        self.assertEqual(blocks.render("{{run : fast}}", self.records()), "227\u00a0us°\n\n° Measured at commit abc1234; the kernel's machine code has changed since.")

    def test_name_the_conditions_of_all_their_figures(self):
        def other(commit, date):
            return {**RUN, "date": date, "conditions": {"commit": commit}}

        records = self.records(b=other("bbb2222", "2026-01-03"), c=other("ccc3333", "2026-01-04"))
        rows = "{{run : slow : error}} {{b : slow : error}} {{c : slow : error}} "
        for template, end in (("{{run : slow : error}} {{conditions}}", "commit abc1234, 2026-01-02"),
                              (rows + "{{conditions}}", "commits abc1234 (2026-01-02), bbb2222 (2026-01-03) and ccc3333 (2026-01-04)"),
                              (rows + "a: {{b : conditions}}; the others: {{conditions}}",
                               "a: commit bbb2222, 2026-01-03; the others: commits abc1234 (2026-01-02) and ccc3333 (2026-01-04)")):
            text = blocks.render(template, records)
            self.assertTrue(text.endswith(end), text)
        with self.assertRaisesRegex(blocks.Wrong, "has times of commit bbb2222"):
            blocks.render("{{run : slow : error}} {{b : slow : error}} {{run : conditions}}", records)

    def test_name_what_they_cannot_say(self):
        for template, words in {"{{run : none}}": "run has no row none", "{{run : slow : colour}}": "allowed: time", "@x": "allowed: @NAME = TEXT"}.items():
            with self.assertRaisesRegex(blocks.Wrong, words):
                blocks.render(template, self.records())

    def test_name_all_that_they_cannot_say(self):
        with self.assertRaises(blocks.Wrong) as caught:
            blocks.rendered(self.page("a") + self.page("b"), self.records(), self.definitions(
                a="{{run : none}}\n{{run : slow}}\n{{none : slow}}", b="{{run : neither}}"))
        self.assertEqual(str(caught.exception).count("\n"), 2)

    def test_show_all_runs_or_one_table(self):
        run = {**RUN, "operator": "wkv", "shape": {"B": 8, "C": 3, "T": 4096}, "states": True, "options": {"decay": "strong"}}
        records = self.records(run=run, h200_compare_a=compared("2026-01-02", 2e-4), transcribed=TABLES)
        definitions = self.definitions(records, a="{{run : slow}}")
        for name, line in {"": "| `run` | wkv, fp32, states, decay=strong | B=8, T=4096, C=3 | abc1234, 2026-01-02 | `slow` 27.0 ms, `fast` 227 us° |",
                           "run": "| `fast`° | 227 us | 233 us | - | 69.4 % | - |", "a": "27.0\u00a0ms",
                           "case": "| `Their, kernel` | 1.72 ms | 1.72 ms | - | 0.233 / 0.233 | 2.0e-3 |", "tried": "| both | **4.45 ms** | kept |"}.items():
            self.assertIn(line, render.shown(name, records, definitions).split("\n"))
        with self.assertRaisesRegex(Refused, "--show rum: .*; did you mean run?"):
            render.shown("rum", records, definitions)

    def test_only_times_are_marked(self):
        self.assertEqual(blocks.render("{{run : fast : of bound}}", self.records()), "69.4\u00a0%")
        self.assertEqual(blocks.render("{{run : ceiling X}}", self.records()), "56.0 TFLOP/s, 4000 GB/s")
        self.assertEqual([blocks.render(f"{{{{run : ceiling X : {one}}}}}", self.records()) for one in ("FMA", "copy")], ["56.0 TFLOP/s", "4000 GB/s"])

    def test_optional_values_and_lines(self):
        records = self.records()
        self.assertEqual(blocks.render("a {{none : row ?}}|", records), "a |")
        self.assertEqual(blocks.render("[if run : slow] yes\n[if none : row] no\n[unless none : row] yes\n[unless run : slow] no", records), "yes\nyes")

    def test_samples(self):
        records = self.records(samples={"schema": "kernel-ladder/samples/1", "samples": {"x": {"lines": ["a", "  b"]}}})
        self.assertEqual(blocks.render("```\n{{sample x}}\n```", records), "```\na\n  b\n```")
        with self.assertRaisesRegex(blocks.Wrong, "no sample is called y"):
            blocks.render("{{sample y}}", records)


TABLES = {"schema": "kernel-ladder/tables/1", "tables": {"tried": {
    "machine": "a GPU", "conditions": "one run", "provenance": "transcribed", "columns": ["what", "time", ""], "align": "lrl",
    "rows": [["as it is", "6.26 ms", ""], ["both", "**4.45 ms**", "kept"]]}}}


def seen(name, kernel, **counters):
    each = {"accesses": 8, "accesses_per_element": {"mean": 64}, "requests_per_element": {"mean": 2.5}}
    return {"implementation": name, "kernel": kernel, "counters": counters,
            "buffers": [{"name": "q", "loads": each}, {"name": "o", "loads": {"accesses": 0}}]}


XRAY = {"counters": [{"name": "global_load_requests"}, {"name": "barriers"}],
        "kernels": [seen("one", "k", global_load_requests=224640, barriers=0), seen("two", "tiles", barriers=4), seen("two", "sums", barriers=0)]}


class Tables(WithRecords):
    def test_are_rendered_as_a_whole_or_by_the_cell(self):
        records = self.records(transcribed=TABLES)
        self.assertEqual(self.definitions(records).of("tried"), "| what | time | |\n|---|---:|---|\n| as it is | 6.26 ms | |\n| both | **4.45 ms** | kept |")
        self.assertEqual(blocks.render("@t = tried\n{{t : both : time}}", records), "**4.45 ms**")
        for template, words in {"{{tried : none : time}}": "no row none", "{{tried : both : none}}": "no column none"}.items():
            with self.assertRaisesRegex(blocks.Wrong, words):
                blocks.render(template, records)

    def test_with_a_row_of_too_few_cells_are_refused(self):
        short = json.loads(json.dumps(TABLES))
        short["tables"]["tried"]["rows"][1].pop()
        with self.assertRaisesRegex(ValueError, "row both has 2 cells; allowed: 3"):
            self.definitions(self.records(transcribed=short)).of("tried")

    def test_of_an_xray_have_its_counts(self):
        sample = {"command": "x", "counters": [each["name"] for each in XRAY["counters"]], "counts": xray_counts(XRAY), "commit": "abc1234", "date": "2026-01-02"}
        records = self.records(samples={"schema": "kernel-ladder/samples/1", "samples": {"x": sample}})
        for template, text in {"{{x : one : global_load_requests}}": "224,640", "{{x : one : barriers}}": "0", "{{x : one : q threads}}": "64", "{{x : one : q warps}}": "2.5",
                               "{{x : two, tiles : barriers}}": "4", "{{x : two, sums : barriers}}": "0", "{{x : conditions}}": "commit abc1234, 2026-01-02"}.items():
            self.assertEqual(blocks.render(template, records), text)
        for template, words in {"{{x : two : barriers}}": "no kernel two", "{{x : one : none}}": "nothing is called none", "{{x : one : o threads}}": "nothing is called o threads"}.items():
            with self.assertRaisesRegex(blocks.Wrong, words):
                blocks.render(template, records)

    def test_of_ceilings_have_the_range_of_all_runs(self):
        other = {**RUN, "ceilings": [{"device": "NVIDIA X", "fma_per_second": 28.3e12, "bytes_per_second": 4e12}]}
        records = self.records(other=other)
        self.assertEqual(blocks.render("{{ceilings NVIDIA X : fma_per_second : 2e-12 : 1}}", records), "56.0 to 56.6")
        self.assertEqual(blocks.render("{{ceilings NVIDIA X : bytes_per_second : 1e-12 : 2}}", records), "4.00")
        with self.assertRaisesRegex(blocks.Wrong, "no run has fma_per_second of Y"):
            blocks.render("{{ceilings Y : fma_per_second : 1 : 1}}", records)


class BareFigures(WithRecords):
    def found(self, page, allowed=()):
        return blocks.bare_figures(page, allowed)

    def test_are_tables_with_times_and_rates(self):
        for cell in ("3.51 ms", "**58 us**", "914 -> 886 us", "2 ns", "4.26 TB/s", "9 GB/s", "15.2 ms, 36.2 TFLOP/s", "12.1 G/s", "1\u00a0ms"):
            self.assertEqual(self.found(f"words\n\n| a | b |\n|---|---|\n| x | {cell} |\n"), [(3, "| a | b |")], cell)

    def test_may_have_the_unit_in_the_head(self):
        for head in ("ms", "full, TFLOP/s", "| time, us |"):
            self.assertEqual(len(self.found(f"| {head} | b |\n|---|---|\n| x | 3.5 |\n")), 1, head)
        self.assertEqual(self.found("| ms | b |\n|---|---|\n| x | none |\n"), [])

    def test_are_none_in_blocks_in_code_or_without_a_unit(self):
        table = "| a | b |\n|---|---|\n| x | 3 ms |\n"
        self.assertEqual(self.found(f"<!-- table: x -->\n{table}\n<!-- end -->\n"), [])
        self.assertEqual(self.found(f"```\n{table}```\n"), [])
        self.assertEqual(self.found("| a | b |\n|---|---|\n| 16 x 128 | 224,640, 64 % |\n"), [])
        self.assertEqual(self.found(table, allowed=("a",)), [])

    def test_are_found_in_a_definition_where_they_are_no_placeholder(self):
        definitions = self.definitions(x="@t = 3 s\n| {{t : 5 ms}} |\n| by hand | 2.49 ms |")
        self.assertEqual(definitions.with_figures(), [("x", 3, "| by hand | 2.49 ms |")])

    def test_are_found_behind_a_block(self):
        table = "| a | b |\n|---|---|\n| x | 3 ms |\n"
        page = f"<!-- table: x -->\n{table}\n<!-- end -->\n\n{table}"
        self.assertEqual(self.found(page), [(page.count("\n") - 2, "| a | b |")])

    def test_of_a_page_are_named_unless_the_list_has_them(self):
        pages = [Path("page.md"), *render.MAY_HAVE_FIGURES]
        self.write(dict.fromkeys(pages, "| field | b |\n|---|---|\n| x | 3 ms |\n"))
        self.assertEqual(render.bare_figures(self.root, pages), ["page.md:1: figures that no record has: | field | b |"])


class Translations(WithRecords):
    ORIGINAL = "words\n<!-- table: a -->\n1 ms\n<!-- end -->\n"

    def setUp(self):
        super().setUp()
        self.hash = blocks.meaning_hash(self.ORIGINAL, self.definitions(a="{{x : y}}"))
        self.page = f"<!-- translates README.md sha256:{self.hash} -->\nWorte\n"

    def marked(self, page, changed_hash):
        return blocks.translation_marked(page, lambda name: changed_hash, "> stale")

    def test_new_figures_do_not_make_one_stale(self):
        after = blocks.meaning_hash(self.ORIGINAL.replace("1 ms", "2 ms"), self.definitions(a="{{x : y}}"))
        self.assertEqual(self.marked(self.page, after), self.page)

    def test_new_words_do_until_it_is_translated(self):
        for page, definition in ((self.ORIGINAL.replace("words", "other words"), "{{x : y}}"), (self.ORIGINAL, "more {{x : y}}")):
            after = blocks.meaning_hash(page, self.definitions(a=definition))
            stale = self.marked(self.page, after)
            self.assertIn("<!-- stale -->> stale\n\nWorte", stale)
            self.assertEqual(self.marked(stale, after), stale)
            self.assertEqual(self.marked(blocks.translation_stamped(stale, lambda name: after), after), self.page.replace(self.hash, after))


class Pictures(WithRecords):
    def test_the_xray_draws_each_load_of_a_warp(self):
        document = {"kernels": [{"implementation": name, "sites": [
            {"operation": "global load", "file": f"{name}.cu", "line": line, "text": "x = k[i] < 1;", "buffers": ["k"], "access_bytes": bytes_of_one, "requests": requests, "sectors": 4}
            for line, requests in ((9, 128), (7, 2))] + [{"operation": "global store", "requests": 2}],
            "steps": [{"buffer": "k", "bytes": bytes_of_one, "lanes": [32] * 32, "sectors": 1}]} for name, bytes_of_one in (("narrow", 4), ("other", 1), ("wide", 16))]}
        sites = xray_sites(document, ["wide", "narrow"])
        self.assertEqual([[each["line"] for each in kernel["loads"]] for kernel in sites], [[7, 9], [7, 9]])
        picture = pictures.xray({"command": "./ladder xray 1 2 --json x", "sites": sites})
        self.assertLess(picture.index("wide.cu: 65 loads"), picture.index("narrow.cu: 65 loads"))
        self.assertEqual(len(re.findall(r"h4\.4v8", picture)), 130)
        self.assertIn("  7  x = k[i] &lt; 1;", picture)
        self.assertIn("the same 16 bytes of k", picture)
        self.assertNotIn("--json", picture)

    def test_the_ladder_draws_what_was_recorded_and_leaves_out_the_rest(self):
        run = json.loads(json.dumps(RUN))
        run["rows"][0]["implementation"] = "wkv_atomic"
        picture = pictures.ladder(self.records(h200_wkv_training=run))
        self.assertEqual(picture.count('<circle class="fp32"'), 2)  # the dot, and the legend's
        self.assertIn("27.0 ms", picture)


class Links(InAFolder):
    def broken(self, page):
        self.write({"README.md": page, "docs/other.md": "# A heading: `code`, twice\n# A heading: `code`, twice\n"})
        return check_links.broken(self.root, ["README.md"], ["README.md", "docs/other.md"])

    def test_files_folders_and_headings_are_found(self):
        self.assertEqual(self.broken("# Top\n[a](docs/other.md) [b](docs) [c](#top) ![d](docs/other.md#a-heading-code-twice-1) [e](https://x.y)"), [])

    def test_what_leads_nowhere_is_named(self):
        for target, words in {"none.md": "there is no none.md", "#none": "no heading #none", "docs/other.md#none": "no heading #none", "../x.md": "out of the tree"}.items():
            wrong = self.broken(f"[a]({target})")
            self.assertEqual(len(wrong), 1, target)
            self.assertIn(words, wrong[0])

    def test_pictures_in_html_count_and_code_does_not(self):
        self.assertEqual(len(self.broken('<img src="none.svg"> `[a](none.md)`\n```\n[a](none.md)\n```\n<!-- [a](none.md) -->')), 1)
