"""Tests of the pictures of docs/results.md, and of the helpers that docs/figures are drawn with."""
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import plots
from nvcc import ROOT
from records import Records

sys.path.append(str(ROOT / "docs/figures"))
import drawing  # noqa: E402

_SVG = "{http://www.w3.org/2000/svg}"


def points(svg):
    return [circle.find(f"{_SVG}title").text for circle in ElementTree.fromstring(svg).iter(f"{_SVG}circle")]


class Times(plots._Times):
    def __init__(self, rows):
        self.rows, self.said = rows, "a GPU"


class Pictures(unittest.TestCase):
    def test_what_was_measured_has_a_point_and_nothing_else(self):
        times = Times([("wkv", "bf16", 512, 1024, 64, {"wkv_time_tiles": 3e-4, "wkv_chunkwise": 1e-4}), ("wkv", "bf16", 4096, 128, 64, {"wkv_chunkwise": 2e-4}),
                       ("wkv", "fp32", 512, 1024, 64, {"wkv_chunkwise": 9e-4}), ("wkv", "bf16", 512, 32, 64, {"wkv_chunkwise": 9e-4}),
                       ("gla", "bf16", 512, 1024, 64, {"wkv_chunkwise": 9e-4})])
        h200 = {"gpu": "NVIDIA H200"}
        cases = {"attention_T1024_D64_causal": ({"rows": [{"name": "attention_sm90", "burst": {"seconds": 2.35e-4}}]}, h200),
                 "attention_T1024_D128_causal": ({"rows": [{"name": "attention_sm90", "burst": {"seconds": 9e-4}}]}, h200),
                 "attention_T512_D64_causal": ({"rows": [{"name": "attention_sm90", "burst": {"seconds": 3e-4}}]}, {"gpu": "NVIDIA H100"}),
                 "attention_T4096_D64_causal": ({"rows": [{"name": "attention_sm90"}]}, h200)}
        self.assertEqual(points(plots.length(SimpleNamespace(cases=cases), times)),
                         ["recurrent, time tiles: 512, 300 us", "chunkwise: 512, 100 us", "chunkwise: 4,096, 200 us", "softmax, causal: 1,024, 235 us"])

    def test_a_rung_stands_at_what_it_does_for_each_byte(self):
        run = {"operator": "wkv", "shape": {"B": 8, "T": 4096, "H": 32, "K": 64, "V": 64}, "fma_count": 2e10, "bytes": 1e9,
               "ceilings": [{"device": "NVIDIA H200", "bytes_per_second": 4e12, "fma_per_second": 3e13, "tensor_fma_per_second": 3e14, "warpgroup_fma_per_second": 4e14}],
               "rows": [{"implementation": "slow", "device": "NVIDIA H200", "seconds": 1e-2}, {"implementation": "on_a_cpu", "device": "a CPU", "seconds": 1}]}
        svg = plots.roofline(SimpleNamespace(runs={"one": run, "other": {**run, "shape": {}}}))
        self.assertEqual(points(svg), ["slow: 2e+12 multiply-adds a second"])

    def test_no_causal_attention_stands_among_the_full(self):
        def run(kernel, **more):
            return {"operator": "attention", "precision": "bf16", "shape": {"B": 4, "T": 4096, "H": 16, "K": 128, "V": 128}, "fma_count": 2e10, "bytes": 1e9,
                    "ceilings": [{"device": "NVIDIA H200", "bytes_per_second": 4e12, "fma_per_second": 3e13, "tensor_fma_per_second": 3e14, "warpgroup_fma_per_second": 4e14}],
                    "rows": [{"implementation": kernel, "device": "NVIDIA H200", "seconds": 1e-2}], **more}
        runs = {"full": run("full", causal=False, options={}), "causal": run("causal", causal=True), "option": run("option", causal=False, options={"causal": ""})}
        self.assertEqual(points(plots.roofline(SimpleNamespace(runs=runs))), ["full: 2e+12 multiply-adds a second"])

    def test_the_pictures_of_the_records_are_svg(self):
        for name, svg in plots.drawn(ROOT, Records(ROOT)).items():
            self.assertGreater(len(points(svg)), 10, name)
            self.assertIn("prefers-color-scheme: dark", svg)

    def test_the_table_says_what_was_not_measured(self):
        lines = plots.fastest(ROOT)
        self.assertTrue(all(line.count("|") == lines[0].count("|") for line in lines[:-2]))
        self.assertIn("not measured", "".join(lines))


class Figures(unittest.TestCase):
    def drawn(self, draw):
        """The lines after the background."""
        figure = drawing.Drawing(100, 100)
        draw(figure)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(drawing, "FOLDER", Path(folder)):
            figure.save("x.svg")
            text = (Path(folder) / "x.svg").read_text()
        ElementTree.fromstring(text)
        return text.split('fill="white"/>\n')[1].splitlines()[:-1]

    def test_what_lies_side_by_side_is_one_path_and_its_words_one_group(self):
        def draw(figure):
            for x in (0, 20, 40.04):
                figure.box(x, 0, 20, 10, "#aabbcc", "none")
                figure.text(x + 10, 8, "<", 10, colour="#123456")
        words = [f'<text x="{x}" y="8">&lt;</text>' for x in (10, 30, 50)]
        self.assertEqual(self.drawn(draw), ['<path fill="#abc" d="m0,0h20v10h-20zm20,0h20v10h-20zm20,0h20v10h-20z"/>',
                                            '<g font-size="10" text-anchor="middle" fill="#123456">', *words, "</g>"])

    def test_what_lies_on_another_is_drawn_after_it(self):
        def draw(figure):
            for x, colour in ((0, "red"), (5, "blue"), (8, "red"), (60, "red")):
                figure.box(x, 0, 10, 10, colour, "none")
            for x in (0, 5):
                figure.box(x, 50, 10, 10)
        self.assertEqual(self.drawn(draw), ['<path fill="red" d="m0,0h10v10h-10z"/>', '<path fill="blue" d="m5,0h10v10h-10z"/>',
                                            '<path fill="red" d="m8,0h10v10h-10zm52,0h10v10h-10z"/>', '<g fill="white" stroke="#222">',
                                            '<path d="m0,50h10v10h-10z"/>', '<path d="m5,50h10v10h-10z"/>', "</g>"])

    def test_each_arrow_has_its_own_head(self):
        def draw(figure):
            for y in (10, 20):
                figure.line(((0, y), (5, y - 5.25)), arrow=True)
        self.assertEqual(self.drawn(draw), ['<g fill="none" stroke="#222" stroke-width="1.2" marker-end="url(#arrow)">',
                                            '<path d="m0,10l5-5.2"/>', '<path d="m0,20l5-5.2"/>', "</g>"])
