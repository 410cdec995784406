"""Tests of --draw: arguments, planted mistakes, and the page made of two X-rays."""
import json
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from for_tests import InAFolder, Refusals
from ladder_tools import drawing, exercise, gtest, programs
from ladder_tools.place import ROOT, Refused, chapters, exercise_of, lessons


class Arguments(Refusals):
    def xray(self, *words):
        """The arguments, as if the learner had a copy of each exercise."""
        with mock.patch.object(Path, "exists", return_value=True):
            return programs.Arguments("xray", words, "/tmp")

    def test_a_copy_goes_by_its_folder_or_its_file(self):
        for word, name in (("my/03_cuda_baseline", "03"), ("my/03_cuda_baseline/", "03"), ("my/03_cuda_baseline/exercise.cu", "03"),
                           ("./my/07_chunkwise/02_chunk_walk", "07.02_chunk_walk"), ("my/03_cuda_baseline/scratch.cu", "03.scratch")):
            given = self.xray(word)
            self.assertEqual((given.copy.name, given.paths["--html"]), (name, ROOT / "out" / f"my{name}.html"), word)
        self.assertEqual(self.xray("my/03_cuda_baseline", "--html", "x.html").paths["--html"], Path("/tmp/x.html"))
        self.assertIsNone(self.xray("03").copy)

    def test_what_is_no_copy_is_refused_before_anything_is_built(self):
        self.assert_refused(lambda words: self.xray(*words), (
            (["my/99"], "copy is 'my/99'; allowed: .*my/03_cuda_baseline "), (["my"], "copy is 'my'"),
            (["my/01_naive_cpu"], "01 is a kernel for the CPU.*allowed with --draw: .*03"),
            (["my/03_cuda_baseline", "04"], "is drawn beside 03_cuda_baseline/kernel.cu; allowed with it: --html"),
            (["my/03_cuda_baseline", "--shape=T=4"], "allowed with it: --html"),
            (["my/03_cuda_baseline", "--json=x"], "allowed with it: --html")))
        with mock.patch.object(Path, "exists", return_value=False), self.assertRaisesRegex(Refused, "does not exist; ./ladder exercise 03 creates"):
            drawing.copy_at("my/03_cuda_baseline")

    def test_of_exercise(self):
        given = exercise.Arguments(["03", "--draw"])
        self.assertEqual((given.exercise.name, given.action, given.draws), ("03", "check", True))
        given = exercise.Arguments(["--mistake", "decay_first", "03", "--draw"])
        self.assertEqual((given.exercise.name, given.exercise.mistake, given.action, given.draws), ("03", "decay_first", "mistake", True))
        self.assertEqual(drawing.page_of(given.exercise), ROOT / "out" / "mistaken03.decay_first.html")
        self.assert_refused(exercise.Arguments, (
            (["03", "--mistake"], "^the mistakes of 03: decay_first forgotten_zeros"),
            (["03", "--mistake", "nope"], "mistake is 'nope'; allowed for 03: decay_first"),
            (["07.10", "--mistake", "x"], "has no mistakes; allowed with --mistake: .*03_cuda_baseline"),
            (["99", "--mistake", "x"], "chapter is '99'"), (["01", "--draw"], "01 is a kernel for the CPU"),
            (["01", "--mistake", "bonus_forgotten", "--draw"], "01 is a kernel for the CPU"),
            (["03", "--draw", "--hint"], "--draw goes with a check"), (["03", "--hint", "--mistake", "x"], "once")))


class Mistakes(unittest.TestCase):
    def test_each_of_the_tree_is_planted_in_a_copy(self):
        build = mock.Mock()
        for chapter in chapters():
            for folder in [Path(chapter), *(Path(chapter) / lesson for lesson in lessons(chapter))]:
                for name in drawing._mistakes_of(folder):
                    with tempfile.TemporaryDirectory() as place:
                        build.folder, build.name = Path(place), "build"
                        mistake = drawing.mistake_of(str(folder) if len(folder.parts) > 1 else f"{chapter[:2]}.00", name)
                        mistake.plant(build)
                        planted = (Path(place) / "mistaken" / mistake.changed).read_text()
                        self.assertNotEqual(planted, (ROOT / mistake.changed).read_text(), name)
                        self.assertTrue((Path(place) / mistake.mine.relative_to("build")).exists(), name)
                        self.assertFalse(any("diagnosis" in line for line in mistake.lines()), name)

    def test_the_lines_say_what_it_is_and_what_it_changes(self):
        said = drawing.mistake_of("03", "decay_first").lines()
        self.assertEqual(said[0], "mistake: the state decays before it is read")
        self.assertIn("+      state[ik] = expf(log_w[ik]) * state[ik];", said)

    def test_a_chapter_without_own_ones_means_its_first_exercise(self):
        self.assertEqual(str(drawing.mistake_of("00", "forgotten_guard").folder), "00_warmup/01_first_kernel")
        self.assertTrue(drawing.mistake_of("07.3", "denominator_forgotten").needs_device)
        self.assertFalse(drawing.mistake_of("01", "bonus_forgotten").needs_device)


class Warnings(InAFolder):
    def test_names_that_a_mistake_leaves_unused_are_not_told(self):
        mistake = mock.Mock(mine=Path("build/x.cu"), target="x")
        mistake.name = "03"
        self.write({"build.log": f"{ROOT}/build/x.cu:9:3: warning: 'f' defined but not used [-Wunused-function]\n"
                                 f"{ROOT}/build/x.cu:10:3: warning: 'sum' may be used uninitialized [-Wmaybe-uninitialized]\n"})
        said = {kind: kind(mistake, mock.Mock(log=self.root / "build.log"))._warnings(None) for kind in (drawing.Look, drawing.Check)}
        self.assertEqual([line.partition(", ")[2][:7] for line in said[drawing.Look]], ["line 10"])
        self.assertEqual(len(said[drawing.Check]), 2)

    def test_a_mistake_that_is_dear_is_blamed_on_no_hole(self):
        mistake = mock.Mock(holes=mock.Mock(return_value=["1", "2"]), target="x")
        self.assertEqual(drawing.Look(mistake, None)._holes_of(lambda *_: True, "x_xray"), [])


class Pages(InAFolder):
    def report(self, *errors):
        return {"counters": [], "case": "T5", "kernels": [{"kernel": "k", "launches": 1, "errors": list(errors), "sites": [], "steps": []}]}

    def drawn(self, by_test, failing, values=(), touch=None):
        """The report on the page, if both programs give by_test[test] as a test's X-ray."""
        one, build = exercise_of("03"), mock.Mock(folder=Path("/none"))
        page = self.root / "page.html"
        tests = [{"name": failing, "failures": ["x.cpp:1\nWRONG RESULT in o"]}]
        with mock.patch.object(gtest, "names_of", return_value=["wkv.MatchesReference/T5", "wkv.KeepsItsBudget"]), \
                mock.patch.object(drawing, "xrayed", lambda program, test, schedules=None: (by_test[test], gtest.Run(1, False, "", tests))):
            if not drawing.draw(one, build, mock.Mock(failing=failing, wrong_values=list(values), wrong_touch=touch), page):
                return None
        return json.loads(re.search(r'id="xray">(.*?)</script>', page.read_text(), re.DOTALL)[1])

    def test_yours_and_ours_are_on_one_page(self):
        failing = "wkv.MatchesReference/T5"
        report = self.drawn({failing: self.report(), "wkv.KeepsItsBudget": {**self.report(), "case": "budget"}}, failing)
        self.assertEqual([kernel["whose"] for kernel in report["kernels"]], ["yours", "ours"])
        self.assertEqual((report["case"], report["about"]), ("budget", "my/03_cuda_baseline/exercise.cu beside 03_cuda_baseline/kernel.cu"))

    def test_the_test_that_failed_is_drawn_where_an_error_is_seen_in_it(self):
        failing = "wkv.MatchesReference/T5"
        report = self.drawn({failing: self.report({"kind": "race"}), "wkv.KeepsItsBudget": None}, failing)
        self.assertEqual(report["case"], "T5")
        self.assertNotIn("verdict", report)

    def test_of_both_as_many_launches_are_counted(self):
        asked = []

        def xrayed(program, test, schedules=None):
            asked.append((program, schedules))
            return {"kernels": [{"launches": 4 if program == "yours" else 2 * min(schedules, 3)}]}, program
        with mock.patch.object(drawing, "xrayed", xrayed):
            theirs, ours = drawing.xrayed_as_far("yours", "ours", "a.Test")
        self.assertEqual(theirs[0], ours[0])
        self.assertEqual(asked, [("yours", None), ("ours", 1), ("ours", 2)])

    def test_a_wrong_value_is_drawn_as_an_error_of_its_step(self):
        failing, value = "wkv.MatchesReference/T5", mock.Mock()
        value.is_in.return_value, value.as_error = 7, lambda step, said: {"step": step, "message": said[0]}
        report = self.drawn({failing: self.report(), "wkv.KeepsItsBudget": None}, failing, ["First difference from our kernel"], value)
        self.assertEqual([kernel["errors"] for kernel in report["kernels"]], [[{"step": 7, "message": "First difference from our kernel"}], []])
        self.assertEqual((report["case"], report["kernels"][0]["opens_at"]), ("T5", 7))

    def test_the_page_opens_where_the_two_first_differ(self):
        def kernel(*steps):
            return {"sites": [{"id": 0, "operation": "global load"}, {"id": 1, "operation": "global store"}],
                    "steps": [{"site": site, "buffer": buffer, "bytes": 4, "lanes": lanes} for site, buffer, lanes in steps]}
        ours = kernel((0, "q", [0, 4]), (0, "k", [0, 4]), (0, "q", [8, 12]), (1, "o", [0, 4]))
        self.assertEqual(drawing.first_difference(ours, ours), 0)
        other_order = kernel((0, "k", [0, 4]), (0, "q", [0, 4]), (0, "q", [8, 8]), (1, "o", [0, 4]))
        self.assertEqual(drawing.first_difference(other_order, ours), 2)
        one_more = kernel((0, "q", [0, 4]), (1, "o", [0, 4]), (1, "o", [8, 12]))
        self.assertEqual(drawing.first_difference(one_more, ours), 2)

    def test_without_any_kernel_there_is_no_page(self):
        self.assertIsNone(self.drawn({"wkv.Refuses": None, "wkv.KeepsItsBudget": None}, "wkv.Refuses"))

    def test_no_text_of_a_report_ends_its_script(self):
        self.assertNotIn("</script><script>throw", drawing.to_page({"about": "</script><script>throw 1</script>"}))


class Nans(unittest.TestCase):
    def test_those_in_the_learners_file_are_named_with_what_is_made_there(self):
        arising = [(["0x1", "0x2"], " in block (1, 0, 0), thread (3, 0, 0)"), (["0x3"], ""),
                   (["0x4"], " in block (9, 0, 0), thread (9, 0, 0)")]
        text = "".join(f'{{"fact":"nan","addresses":{json.dumps(addresses)},"where":"{where}"}}\n'
                       for addresses, where in arising)
        lines = {"0x1": "/usr/math.c:3\n/x/truth.cpp:9\n", "0x3": "/x/math.hpp:7\n/x/build/emulated/my/03/exercise.cu.cpp:41 (discriminator 2)\n",
                 "0x4": "/x/my/03/exercise.cu:50\n"}
        code = "\n" * 40 + "  x = root(-1);\n" + "\n" * 8 + "  y = x;\n"
        with mock.patch.object(gtest, "text_of", lambda path: code), \
                mock.patch("subprocess.run", lambda command, **_: mock.Mock(stdout=lines[command[4]])):
            self.assertEqual(list(gtest.nans(text, "program", Path("my/03/exercise.cu"))),
                             [(41, "", ("math.hpp:7", "x = root(-1);")),
                              (50, " in block (9, 0, 0), thread (9, 0, 0)", ("y = x;",))])
            self.assertEqual(list(gtest.nans(text, "program", Path("my/04/exercise.cu"))), [])
            self.assertEqual(list(gtest.nans("", "program", Path("my/03/exercise.cu"))), [])
