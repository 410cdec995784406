"""Bosses: the replies to answers, and that no boss is a planted mistake."""
from unittest import mock

from for_tests import InAFolder, printed
from ladder_tools import boss, learning, must_fail, patches
from ladder_tools.place import ROOT, bosses


class Bosses(InAFolder):
    def setUp(self):
        super().setUp()
        self.during(mock.patch.object(learning, "_SOLVED", self.root / ".solved.json"),
                    mock.patch.object(boss.Boss, "mine", property(lambda _: self.root / "boss.cu", lambda *_: None), create=True),
                    mock.patch.object(boss, "say", print))

    def say(self, *words):
        return printed(boss.boss, list(words), "default")

    def test_every_reason_is_needed_and_none_is_a_planted_mistake(self):
        every = [boss.Boss(name) for name in bosses()]
        self.assertLessEqual({"00.06_stencil.boss", "01.boss", "02.04_columns.boss", "03.boss", "06.boss"}, {each.name for each in every})
        self.assertEqual({each.reason for each in every if not each.on_the_cpu}, set(boss.REASONS))
        for each in every:
            self.assertIn(each.reason, each.reasons)
            planted = [patches.patched(each.kernel, patch) for patch in (ROOT / each.patch.parent / "mistakes").glob("*.patch")
                       if f"+++ b/{each.kernel}\n" in patch.read_text()]
            self.assertNotIn(each.text, planted)

    def test_the_line_follows_from_the_patch(self):
        kernel, mine = "a\nb\nc\nd\n", {"a\nB\nc\nd\n": {2}, "a\nb\nx\ny\nc\nd\n": {3, 4}, "a\nc\nd\n": {1, 2}}
        for text, lines in mine.items():
            one = boss.Boss("03.boss")
            one.text, one.kernel = text, "kernel.cu"
            (self.root / "kernel.cu").write_text(kernel)
            with mock.patch.object(boss, "ROOT", self.root):
                self.assertEqual(one.lines(), lines, text)

    def test_a_wrong_line_and_a_wrong_reason_are_told_apart_and_the_right_answer_is_kept(self):
        one = boss.Boss("06.boss")
        line, other = str(min(one.lines())), str(max(one.lines()) + 3)
        for words, said in (((line, "race"), f"Line {line} is right. The reason is not race"),
                            ((other, one.reason), f"{one.reason} is right. Line {other} is not"), ((other, "race"), "Neither is right")):
            self.assertEqual((self.say("6.boss", *words)[0], said in self.say("06.boss", *words)[1]), (1, True), said)
            self.assertEqual(learning.solved(), {})
        status, said = self.say("06.boss", line, one.reason)
        self.assertEqual(status, 0)
        self.assertIn(one.why, said)
        self.assertIn("06.boss", learning.solved())

    def test_the_learner_gets_the_broken_file_and_is_told_when_its_lines_have_moved(self):
        self.say("05.boss", "1", "race")
        self.assertEqual((self.root / "boss.cu").read_text(), boss.Boss("05.boss").text)
        (self.root / "boss.cu").write_text("// mine\n" + boss.Boss("05.boss").text)
        self.assertIn("has changed, but lines are counted in the original", self.say("05.boss", "1", "race")[1])

    def test_arguments(self):
        self.assert_refused(lambda words: self.say(*words), (
            (["03.01.boss"], "boss is '03.01.boss'; allowed: .*03.boss"), (["03.boss", "4"], "LINE REASON"), (["03.boss", "x", "race"], "LINE REASON"),
            (["03.boss", "4", "bad"], "reason is 'bad'; allowed: race missing-barrier"),
            (["01.boss", "4", "missing-barrier"], "reason is 'missing-barrier'; allowed: wrong-order left-over")))

    def test_what_the_xray_says_comes_without_its_lines(self):
        found = boss.gtest.Finding("race: load at common/cuda/storage.hpp:12", ("race", "no"), False, [["common/cuda/storage.hpp:12", "06_x/kernel.cu:70"]], "race: load")
        self.assertEqual([boss.without_lines(said) for said in (found, "WRONG RESULT in o")], ["race: load", "WRONG RESULT in o"])

    def test_the_gate_wants_what_the_patch_announces_in_a_line_of_the_kernel(self):
        one = boss.Boss("03.boss")
        def found(place):
            return boss.gtest.Finding(f"{one.shows} {place} by thread", ("race", "no"), False, [[place]], one.shows)

        for finding, faulty in ((found("03_x/kernel.cu:46"), False), (found("common/x.hpp:46"), True), ("WRONG RESULT", True)):
            with mock.patch.object(boss.Boss, "findings", return_value=[finding]):
                self.assertEqual(bool(must_fail.faults_of_boss("program", ROOT / one.patch)), faulty, finding)

    def test_a_kernel_for_the_cpu_is_judged_by_its_test_which_names_no_misconception(self):
        one, asked = boss.Boss("02.04.boss"), []
        self.assertTrue(one.on_the_cpu and not boss.Boss("03.boss").on_the_cpu)

        def run(*_, environment, **__):
            asked.append(environment)
            return boss.gtest.Run(1, False, "", [{"failures": [f"Failed\n{one.shows} by two"]}])
        with mock.patch.object(boss.gtest, "run", run):
            self.assertEqual(one.findings("program", 1), [f"{one.shows} by two"])
            self.assertEqual(must_fail.faults_of_boss("program", ROOT / one.patch), [])
        self.assertEqual(asked, [{"LADDER_NO_NAMES": "1"}] * 2)
