"""Tests of ./ladder which, apply and compare, without the programs that they start."""
import json
from unittest import mock

from for_tests import InAFolder, printed
from ladder_tools import place, programs, which
from ladder_tools.place import Failed

_SHAPE = {"B": 4, "T": 4096, "H": 16, "K": 128, "V": 128}


def run_of(operator, times, shape=None, **more):
    """A file of records/, from {implementation: seconds}."""
    rows = [{"implementation": name, "seconds": seconds, "device": "NVIDIA X", "right": True, "code": "new"} for name, seconds in times.items()]
    run = {"name": "x", "operator": operator, "precision": "bf16", "shape": shape or _SHAPE, "date": "2026-01-02", "rows": rows, **more}
    return json.dumps({"schema": "kernel-ladder/runs/1", "runs": [run]})


class Which(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(which, place)
        best = {"schema": "kernel-ladder/best-recorded/2", "run": {"device": "NVIDIA X", "date": "2026-01-03"},
                "groups": [{"operator": "wkv", "precision": "bf16", "implementations": ["a", "b"], "rows": [[4096, 256, 64, 64, 228.0, 700.0]]},
                           {"operator": "wkv", "precision": "bf16", "implementations": ["b"], "rows": [[64, 256, 64, 64, 9.0]]}]}
        self.write({"records/kernels.json": json.dumps({"launched": [{"name": "x", "code": {"slow": "new", "fast": "new"}}]}), "records/best.json": json.dumps(best),
                    "records/full.json": run_of("attention", {"slow": 2e-3, "fast": 8e-4}),
                    "records/causal.json": run_of("attention", {"fast": 4e-4}, causal=True),
                    "records/long.json": run_of("attention", {"fast": 9e-3}, {**_SHAPE, "T": 65536})})
        self.write({"program": "#!/bin/sh\necho '{\"kernel\": \"a\", \"rule\": \"the rule\", \"compared\": {\"b\": 690.5, \"a\": 230.1}}'\n"})
        (self.root / "program").chmod(0o755)

    def test_without_rules_the_fastest_that_is_recorded(self):
        _, said = printed(which._by_records, "attention", [], {"T": 4096}, frozenset())
        self.assertRegex(said, r"T=4096, .*; bf16: fast\n.*fastest of 2 .*\n  recorded: 800 us \(NVIDIA X, 2026-01-02, records/full.json\)")
        self.assertIn("causal; bf16: fast", said)
        self.assertNotIn("65536", said)

    def test_a_shape_that_is_not_recorded_gets_the_nearest(self):
        _, said = printed(which._by_records, "attention", [], {"T": 50000}, frozenset())
        self.assertRegex(said, "nothing is recorded for T=50000; the nearest recorded shape:\n.*T=65536")
        _, said = printed(which._by_records, "attention", [], {"T": 50000}, frozenset({"causal"}))
        self.assertRegex(said, "nothing is recorded for T=50000, causal; the nearest .*\n.*T=4096.*; causal;")
        _, said = printed(which._by_records, "transpose", [], {}, frozenset())
        self.assertIn("no time on a GPU is recorded", said)

    def test_with_rules_the_choice_why_and_the_recorded_time(self):
        _, said = printed(which._with_rules, "wkv", ["bf16"], {"B": 8, "T": 4096}, self.root / "program")
        self.assertRegex(said, r"wkv, B=8, T=4096, H=32, K=64, V=64;.*\n\nbf16: a\n  why: the rule\n +a +about 230 us\n +b +about 690 us\n  recorded: 228 us \(B=1, T=4096, H=256")
        _, said = printed(which._with_rules, "wkv", ["bf16"], {"T": 100}, self.root / "program")
        self.assertRegex(said, r"recorded: not for this shape; the nearest: 228 us")

    def test_an_option_that_changes_no_rule_chooses_the_record(self):
        choice = '{"kernel": "fast", "rule": "the rule", "compared": {}}'
        self.write({"program": f"#!/bin/sh\necho '{choice}'\n"})
        for options, recorded in ((frozenset(), "800 us"), (frozenset({"causal"}), "400 us")):
            _, said = printed(which._with_rules, "attention", ["bf16"], _SHAPE, self.root / "program", options)
            self.assertIn(f"recorded: {recorded}", said)
        self.assertIn("V=128, causal; the rules", said)

    def test_an_older_kernels_time_is_called_so(self):
        self.write({"records/full.json": run_of("attention", {"fast": 8e-4}).replace("new", "old")})
        _, said = printed(which._by_records, "attention", [], {"T": 4096}, frozenset())
        self.assertIn("full.json; an earlier version of this kernel)", said)


class Refusals(InAFolder):
    def test_which_refuses_before_anything_is_built(self):
        self.assert_refused(lambda words: which.which(words.split(), "default", self.root), (
            ("", "which takes an operator"), ("wkv B=8 T=8", "given: 3 words"), ("wvk", "did you mean wkv"), ("wkv B=8,T=x", "T is 'x'; allowed: a whole number"),
            ("wkv B=0", "B is '0'"), ("wkv T_q=8", "size is 'T_q'; allowed: B T H K V"), ("wkv --precision fp64", "--precision is 'fp64'; allowed: fp32 bf16 bf16_fp32_decay fp16"),
            ("wkv --precision", "--precision needs a value"), ("wkv --options reverse", "allowed for wkv: none"), ("wkv B=8,B=4", "B is given twice"),
            ("wkv K=64,D=64", "D is given twice"), ("attention --all", "option is '--all'"),
            ("attention T_k=8", "allowed: B T H K V T_q H_kv"), ("attention --options key_lengths", "allowed for attention: causal;")))

    def test_apply_refuses_before_anything_is_built(self):
        (self.root / "in").mkdir()
        (self.root / "full").mkdir()
        (self.root / "full" / "q.npy").touch()
        self.assert_refused(lambda words: programs.apply(words.split(), "default", self.root), (
            ("", "--operator is missing"), ("--operator wvk", "did you mean wkv"), ("03 --operator wkv", "apply is followed by '03'"),
            ("--operator wkv --in full", "not both given"), ("--operator wkv --out x", "not both given"),
            ("--operator wkv --in in --out x", "--in is 'in'; allowed: a folder with .npy files"), ("--operator wkv --in none --out x", "allowed: a folder with .npy files"),
            ("--operator wkv --implementation wkv_flaot4 --in full --out x", "did you mean wkv_float4"),
            ("--operator wkv --options revers --in full --out x", "did you mean reverse"), ("--operator wkv --json x", "option is '--json'")))

    def test_compare_says_what_it_needs(self):
        with mock.patch.object(which, "ask_nvidia", return_value=""):
            with self.assertRaisesRegex(Failed, "compare needs an NVIDIA GPU"):
                which.compare([], "default", self.root)
            self.assert_refused(lambda words: which.compare(words.split(), "default", self.root), (("--outs x", "did you mean --out"),))
