"""Tests of the pictures of docs/results.md."""
import unittest
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import plots
from nvcc import ROOT
from records import Records

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

    def test_the_pictures_of_the_records_are_svg(self):
        for name, svg in plots.drawn(ROOT, Records(ROOT)).items():
            self.assertGreater(len(points(svg)), 10, name)
            self.assertIn("prefers-color-scheme: dark", svg)

    def test_the_table_says_what_was_not_measured(self):
        lines = plots.fastest(ROOT)
        self.assertTrue(all(line.count("|") == lines[0].count("|") for line in lines[:-2]))
        self.assertIn("not measured", "".join(lines))


if __name__ == "__main__":
    unittest.main()
