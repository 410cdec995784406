"""Tests that docs/run_json.md names every key of the records in ./ladder run's JSON, and no other
key."""
import re
import unittest

from nvcc import ROOT  # finds ladder_tools
from ladder_tools.recorded import runs

PARTS = {"A run": "run", "A shape": "shape", "A ceiling": "ceiling", "A row": "row", "Conditions": "conditions"}


def documented():
    """{part: {key: whether it is optional}}"""
    found = {}
    for section in (ROOT / "docs" / "run_json.md").read_text().split("\n## ")[1:]:
        title = section.splitlines()[0].split(":")[0]
        found[PARTS[title]] = {key: bool(star) for key, star in re.findall(r"^\| `(\w+)`( \*)? \|", section, re.MULTILINE)}
    return found


class Schema(unittest.TestCase):
    def test_every_record_is_as_documented(self):
        schema = documented()
        headers = "".join(path.read_text() for path in (ROOT / "common" / "operators").glob("*/operator.hpp"))
        shared = set(re.findall(r'kName = "([a-z_]+)"', headers))
        self.assertIn("wkv", shared)
        count = 0
        for _, run in runs(ROOT / "records"):
            count += 1
            name = run["name"]
            parts = [("run", run), ("shape", run["shape"]), ("conditions", run.get("conditions", {"commit": ""}))]
            parts += [("ceiling", each) for each in run["ceilings"]] + [("row", each) for each in run["rows"]]
            parts += [("shape", each["checked_shape"]) for each in run["rows"] if "checked_shape" in each]
            if run["operator"] not in shared:  # a lesson's operator has its own sizes
                parts = [part for part in parts if part[0] != "shape"]
            for part, content in parts:
                self.assertEqual(set(content) - set(schema[part]), set(), f"{name}: {part} has keys that docs/run_json.md lacks")
                needed = {key for key, optional in schema[part].items() if not optional}
                if part == "row":
                    needed -= {"source"}
                self.assertEqual(needed - set(content), set(), f"{name}: {part} lacks keys that docs/run_json.md has without *")
        self.assertGreater(count, 0)

    def test_no_documented_key_is_unknown_to_the_program(self):
        sources = "".join(path.read_text() for path in (ROOT / "common").rglob("*.cpp")) + (ROOT / "tools/ladder_tools/programs.py").read_text()
        for part, keys in documented().items():
            for key in keys:
                if key == "growth":  # only in old records
                    continue
                self.assertTrue(f'"{key}"' in sources, f"{part}.{key} is written by nothing")


class Citation(unittest.TestCase):
    def test_the_version_is_that_of_the_project(self):
        project = re.search(r"project\(.* VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
        self.assertEqual(cited, project)
