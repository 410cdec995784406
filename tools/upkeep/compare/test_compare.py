"""Tests of the comparison without a GPU: cases, arguments, missing peers, the library's interface,
the tables.

python3 -m unittest discover -s tools/upkeep/compare"""
import contextlib
import copy
import ctypes
import dataclasses
import importlib.util
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

import call_cost
import cases
import compare
import fla_tests
import ours
import peers
import sampling
import tables
from compare import torch
from for_tests import InAFolder

if torch:
    import workloads

EMULATED = sorted(compare.ROOT.glob("build*/libkernel_ladder_emulated.so"))


class Arguments(unittest.TestCase):
    def refused(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as end:
            compare.parse(arguments)
        self.assertEqual(end.exception.code, 2)
        return said.getvalue()

    def test_bad_values_are_refused_with_what_is_allowed(self):
        self.assertIn("--minutes is -1.0; allowed: more than 0", self.refused("--list", "--minutes", "-1"))
        self.assertIn("--jobs is 0; allowed: 1 or more", self.refused("--warm", "--jobs", "0"))
        self.assertIn("--only lstm* fits no case; allowed:", self.refused("--list", "--only", "lstm*"))
        self.assertIn("nothing to do; allowed: one of --list, --warm, --out, --table", self.refused())

    def test_the_help_fits_80_columns(self):
        for program in (compare, call_cost, fla_tests):
            self.assertLessEqual(max(map(len, program.__doc__.splitlines())), 80)

    def test_only_chooses_cases_by_pattern(self):
        options = compare.parse(["--list", "--only", "gla_*", "--only", "attention_T512*"])
        self.assertEqual({case.group for case in options.cases}, {"gla", "attention"})
        self.assertEqual(len(options.cases), 3 + 4)
        self.assertEqual(len(compare.parse(["--list"]).cases), len(cases.all_cases()))

    def test_a_library_that_is_not_there_is_said(self):
        for find, name in ((compare.find_library, "libladder_launchers.so"),
                           (compare.find_kernels, "libkernel_ladder.so")):
            with self.assertRaisesRegex(SystemExit, f"/nowhere/{name} is not there: cmake"):
                find(pathlib.Path("/nowhere", name))


class Cases(unittest.TestCase):
    def setUp(self):
        self.cases = {case.name: case for case in cases.all_cases()}

    def test_names_are_unique_and_every_case_has_two_sides(self):
        self.assertEqual(len(self.cases), len(cases.all_cases()))
        for case in self.cases.values():
            self.assertTrue(case.ours and case.peers, case.name)

    def test_what_is_wanted_is_there(self):
        shapes = {(c.operator, c.precision, *c.sizes.values()) for c in self.cases.values()}
        for precision in ("bf16", "fp32"):
            for B, T, H, K in ((8, 4096, 32, 64), (1, 4096, 32, 64), (1, 16384, 32, 64), (8, 4096, 16, 128), (1, 54, 32, 64),
                               (1, 1, 32, 64), (8, 1, 32, 64), (64, 1, 32, 64)):
                self.assertIn(("wkv", precision, B, T, H, K, K), shapes)
        for H, K in ((32, 64), (16, 128), (4, 256)):
            self.assertIn(("gla", "bf16", 8, 4096, H, K, K), shapes)
        self.assertTrue(all(c.states and c.whole_call for c in self.cases.values() if c.sizes.get("T") == 1))

    def test_operations_of_attention_are_those_of_the_readme(self):
        full = self.cases["attention_T4096_D128"].operations()
        self.assertEqual(full, 4 * 4 * 16 * 4096 * 4096 * 128)
        self.assertEqual(self.cases["attention_T4096_D128_causal"].operations(), full / 2)
        self.assertEqual(self.cases["attention_backward_T4096_D128"].operations(), full * 2.5)
        self.assertEqual(self.cases["attention_decode_B1_H32_8_T32768_D128"].operations(), 0)

    def test_bytes_of_chapter_00_are_each_array_moved_once(self):
        self.assertEqual(self.cases["vector_add_N268435456"].bytes(), 3 * 2**30)
        self.assertEqual(self.cases["transpose_M8192_N8192"].bytes(), 2 * 2**28)
        self.assertEqual(self.cases["rms_norm_M32768_N8192"].bytes(), 2 * 2**30 + 2**15)
        self.assertEqual(self.cases["matmul_M8192_N8192_K8192"].bytes(), 0)
        self.assertEqual(self.cases["matmul_M8192_N8192_K8192"].operations(), 2 * 8192**3)
        self.assertEqual(self.cases["matmul_bf16_M8192_N8192_K8192"].ours[0], "matmul_grouped")

    def test_products_that_share_weights_have_rates_and_a_row_of_low_bits_has_bytes(self):
        conv = self.cases["conv2d_B8_M64_C64_H56_W56_KH3_KW3_stride1_pad1"]
        self.assertEqual((conv.operations(), conv.bytes()), (2 * 8 * 64 * 56 * 56 * 64 * 9, 0))
        batched = self.cases["batched_matmul_B8_M512_N1024_K1024_with_bias1_gelu1"]
        self.assertEqual((batched.operations(), batched.bytes()), (2 * 8 * 512 * 1024 * 1024, 0))
        row = self.cases["int4_matmul_M1_N8192_K8192_GROUP128"]
        self.assertEqual((row.operations(), row.bytes()), (0, 8192 * 8192 // 2 + 64 * 8192 * 5 + 4 * 2 * 8192))
        self.assertEqual(self.cases["int8_matmul_M64_N4096_K4096_GROUP64"].operations(), 2 * 64 * 4096**2)
        self.assertEqual(self.cases["matmul_M1_N8192_K8192"].bytes(), 4 * (8192**2 + 2 * 8192))

    def test_the_launchers_have_each_operator_of_chapter_00(self):
        text = (HERE / "launchers.cu").read_text()
        for operator in {case.operator for case in cases.all_cases() if case.group == "warmup"}:
            self.assertIn(f'{{"{operator}", by_precision<', text)

    def test_each_side_of_chapter_00_is_a_kernel_that_is_there(self):
        sources = "".join(path.read_text() for path in (compare.ROOT / "00_warmup").glob("*/*.cu"))
        for case in self.cases.values():
            if case.group == "warmup":
                for name in case.ours:
                    self.assertIn(f'"{name}"', sources, case.name)
                for peer in case.peers:
                    self.assertTrue(peers.Peers("nowhere").label(peer, case), (case.name, peer))

    def test_the_truth_of_a_gradient_sees_every_batch(self):
        for case in self.cases.values():
            if case.backward and case.group != "attention":
                self.assertLessEqual(case.sizes["B"], 8, "du is summed over batches that the sample leaves out")

    def test_each_peer_is_compiled_once_for_cases_that_differ_in_T_only(self):
        compiled = compare.compilations(cases.all_cases())
        self.assertEqual(len(compiled), len(set(compiled)))
        chunk_bf16 = [name for name, peer in compiled if peer == "fla_chunk" and name.startswith("wkv_bf16_B") and "K64" in name]
        self.assertEqual(chunk_bf16, ["wkv_bf16_B8_T4096_H32_K64", "wkv_bf16_B1_T54_H32_K64"])
        self.assertFalse([peer for _, peer in compiled if peer in cases.SDPA])


class PeersThatAreNotThere(InAFolder):
    case = next(case for case in cases.all_cases() if "rwkv_cuda" in case.peers)

    def test_it_is_said_where_they_were_looked_for(self):
        for source, (folder, package, _) in peers.SOURCES.items():
            if package and importlib.util.find_spec(package):
                continue
            with self.assertRaisesRegex(peers.NotThere, f"not installed: .peers/{folder} is not"):
                peers.Peers(self.root).version(source)

    def test_an_fla_with_layers_and_models_is_loaded_without_them(self):
        packages = {"": "import importlib\ntry:\n    importlib.import_module('fla.layers')\n"
                        "except ModuleNotFoundError as missing:\n    assert missing.name == 'fla.layers'\n",
                    "layers/": "from fla.ops.gla import chunk_gla\n", "models/": "", "ops/": "", "ops/gla/": "import fla\nchunk_gla = 1\n"}
        self.write({f"flash-linear-attention/fla/{package}__init__.py": text for package, text in packages.items()})
        self.write({"flash-linear-attention/COMMIT": "abc\n"})
        self.addCleanup(lambda: [sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "fla"])
        self.addCleanup(lambda path: sys.path.__setitem__(slice(None), path), list(sys.path))
        case = next(case for case in cases.all_cases() if case.group == "gla")
        self.assertEqual(peers.Peers(self.root).load("fla_chunk", case), 1)
        self.assertNotIn("fla.layers", sys.modules)

    def test_asking_twice_says_the_same(self):
        both = peers.Peers(self.root)
        for _ in range(2):
            with self.assertRaisesRegex(peers.NotThere, "not installed"):
                both.load("rwkv_cuda", self.case)

    def test_a_tree_that_cannot_be_loaded_is_no_crash(self):
        (self.root / "RWKV-CUDA").mkdir()
        with self.assertRaisesRegex(peers.NotThere, "cannot be loaded: FileNotFoundError"):
            peers.Peers(self.root).load("rwkv_cuda", self.case)

    def test_the_commit_comes_from_a_note_or_from_git(self):
        tree = self.root / "RWKV-CUDA"
        tree.mkdir()
        self.assertEqual(peers.Peers(self.root).version("rwkv_cuda"), "unknown")
        (tree / "COMMIT").write_text("abc123\n")
        self.assertEqual(peers.Peers(self.root).version("rwkv_cuda"), "abc123")
        (tree / "COMMIT").unlink()
        for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]):
            subprocess.run(["git", "-C", str(tree), *command], check=True)
        self.assertRegex(peers.Peers(self.root).version("rwkv_cuda"), "^[0-9a-f]{40}$")


class FlaTests(InAFolder):
    def test_every_function_that_is_replaced_is_one_of_ours(self):
        text = (compare.ROOT / "library/python/kernel_ladder/torch.py").read_text()
        for name in fla_tests.FUNCTIONS:
            self.assertRegex(text, rf"(?m)^(def {name}\(|{name} = )")

    def test_what_passes_what_fails_and_what_does_not_apply(self):
        def report(test, outcome, ours, said=""):
            return {"test": f"tests/ops/test_gla.py::{test}", "outcome": outcome, "ours": ours, "said": said}
        write = lambda name, reports: (self.root / f"{name}.json").write_text(json.dumps(reports))
        write("chunk_gla", [report("right", "passed", [""]), report("wrong", "failed", ["", ""], "AssertionError: dq ratio: 0.1"),
                            report("wrong_anyway", "failed", [""], "out of memory"), report("refused", "failed", ["", "K is 512"], "ValueError: K is 512"),
                            report("not_called", "passed", []), report("skipped", "skipped", [], "Skipped: no such GPU")])
        write("nothing", [report("right", "passed", []), report("wrong", "passed", []), report("wrong_anyway", "failed", [])])
        (self.root / "COMMIT").write_text("0123456789\n")
        made = fla_tests.tables_of(self.root)["tables"]
        counts = {row[0]: row[1:] for row in made["fla_tests"]["rows"]}
        self.assertEqual(counts["`chunk_gla`"], ["`test_gla.py`", "1", "2", "3"])
        self.assertEqual(counts["`chunk_rwkv6`"], ["`test_rwkv6.py`", "not run", "", ""])
        self.assertEqual(counts["nothing"], ["all three", "2", "1", "-"])
        self.assertEqual([row[1:] for row in made["fla_tests_not_passed"]["rows"]],
                         [["`wrong`", "fail: AssertionError: dq ratio: 0.1"],
                          ["`wrong_anyway`", "fail: out of memory (with nothing replaced it failed too)"],
                          ["`refused`", "does not apply: K is 512"], ["`not_called`", "does not apply: it does not come to a call of ours"],
                          ["`skipped`", "does not apply: Skipped: no such GPU"]])
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            fla_tests.table(self.root)
        self.assertIn("| `chunk_gla` | `test_gla.py` | 1 | 2 | 3 |\n", said.getvalue())


class Interface(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_value_is_that_of_the_launchers(self):
        struct = re.search(r"^struct LadderValue \{.*?^\};", (HERE / "launchers.cu").read_text(), re.DOTALL | re.MULTILINE)[0]
        lines = ["#include <stddef.h>", struct, f'_Static_assert(sizeof(struct LadderValue) == {ctypes.sizeof(ours.Value)}, "LadderValue");']
        for field, _ in ours.Value._fields_:
            lines.append(f'_Static_assert(offsetof(struct LadderValue, {field}) == {getattr(ours.Value, field).offset}, "{field}");')
        result = subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-xc", "-"], input="\n".join(lines) + "\n", text=True,
                                capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_value_is_a_number_a_pointer_or_null(self):
        tensor = mock.Mock(data_ptr=lambda: 4096)
        for value, number, array in ((64, 64, None), (0.5, 0.5, None), (True, 1, None), (None, 0, None), (tensor, 0, 4096)):
            given = ours.value_of("q", value)
            self.assertEqual((given.name, given.number, given.array), (b"q", number, array))

    @unittest.skipUnless(EMULATED and torch, "no emulated library is built (./ladder python --emulator), or no PyTorch")
    def test_the_librarys_kernels_compute(self):
        kernels = ours.Kernels(EMULATED[-1])
        case = next(case for case in cases.all_cases() if case.name.startswith("wkv_bf16_fp32_decay"))
        case = dataclasses.replace(case, sizes={"B": 1, "T": 20, "H": 2, "K": 32, "V": 32})
        x = workloads.make_inputs(case, 1, "cpu")
        o = torch.empty_like(x["v"])
        values = {**case.sizes, **x, "o": o, "log_w_stride_B": 20 * 64, "log_w_stride_T": 64}
        for name in ("best_wkv", "wkv_fused_recurrent"):
            self.assertIn(name, kernels.names)
            kernels.call(name, "wkv", case.precision, values)()
            self.assertLess(workloads.errors(case, {"o": o}, workloads.truth(case, x))["o"], 1e-2)
        for name, more, sentence in (("best_wkv", {"T_q": 4}, "wkv has no T_q"), ("attention_sm90", {}, "choice is 'attention_sm90'; allowed"),
                                     ("best_wkv", {"K": 0}, "K is 0; allowed")):
            with self.assertRaisesRegex(ours.Refused, sentence):
                kernels.call(name, "wkv", case.precision, {**values, **more})


class Sampling(unittest.TestCase):
    settings = sampling.Settings()

    def test_graphs_use_each_copy_equally_often(self):
        for seconds, copies in ((3e-6, 437), (5e-6, 100), (2e-4, 1), (7e-3, 1), (5e-5, 3), (1e-6, 1)):
            n = sampling.calls_in_graph(seconds, copies, self.settings)
            self.assertEqual(n % copies, 0)
            self.assertGreaterEqual(n, copies)
            self.assertLessEqual(n, max(copies, self.settings.most_calls))
        self.assertEqual(sampling.calls_in_graph(2e-4, 1, self.settings), 8)

    def test_median_and_spread(self):
        self.assertEqual(sampling.summary([5.0, 1.0, 3.0, 2.0, 4.0]), {"seconds": 3.0, "spread": 1 / 3, "samples": 5})


def document():
    def timing(seconds):
        return {"seconds": seconds, "spread": 0.01, "samples": 7}

    def row(name, mine, error, burst=None, sustained=None, whole=None, message=""):
        return {"name": name, "ours": mine, "errors": {} if error is None else {"o": error}, "message": message, "recorded": True,
                "burst": burst and timing(burst), "sustained": sustained and timing(sustained), "whole": whole and timing(whole)}

    case = {"name": "wkv_fp32", "group": "wkv", "operator": "wkv", "precision": "fp32", "sizes": {"B": 8, "T": 4096},
            "causal": False, "states": False, "operations": 0}
    settings = {"burst_rounds": 7, "burst_seconds": 6e-3, "pause_seconds": 0.12, "sustained_rounds": 2, "sustained_seconds": 0.6}
    conditions = {"gpu": "G", "driver": "1", "cuda": "13.0", "torch": "2", "cudnn": 9, "triton": "3", "date": "d", "commit": "c",
                  "peers": {"FLA": "abc"}}
    attention = {**case, "name": "attention", "group": "attention", "operator": "attention", "precision": "bf16",
                 "operations": 8e12}
    return {"schema": tables.COMPARE, "conditions": conditions, "settings": settings, "cases": [
        {**case, "rows": [row("best_wkv", True, 3e-7, 700e-6, 800e-6), row("FLA chunk", False, 1.5e-3, 500e-6, 600e-6),
                          row("FLA recurrent", False, 1e-7, 3.1e-3, 3.2e-3), row("RWKV", False, None, message="not installed: x"),
                          row("bad", False, 0.5, message="wrong: not timed")]},
        {**attention, "rows": [row("attention_sm90", True, 2e-3, 10e-3, 12e-3), row("cuDNN", False, 2e-3, 9.95e-3, 11e-3)]}]}


class Tables(InAFolder):
    def line(self, text, begin):
        return next(line for line in text.split("\n") if line.startswith(f"| {begin} "))

    def test_a_faster_peer_is_said_with_its_error(self):
        text = tables.render(document())
        self.assertEqual(self.line(text, "FLA chunk"), "| FLA chunk | 1.50e-03 | 500 us | 600 us | 0.71 / 0.75 |  | faster, burst; "
                         "faster, sustained; error up to 5000 times ours (TF32) |")
        self.assertIn("| 4.43 / 4.00 |  | more exact |", self.line(text, "FLA recurrent"))
        self.assertIn("FLA abc. What they have off by default: not looked for.", text)
        told = document()
        told["conditions"]["opt_in"] = peers.opt_in()
        self.assertRegex(tables.render(told), r"off by default: FLA's TileLang kernel of RWKV-6: (not )?installed")

    def test_what_is_not_there_or_wrong_has_a_row_and_no_time(self):
        text = tables.render(document())
        self.assertEqual(self.line(text, "RWKV"), "| RWKV | | | | | | not installed: x |")
        self.assertEqual(self.line(text, "bad"), "| bad | 5.00e-01 |  |  |  |  | wrong: not timed |")

    def test_attention_has_rates_and_a_tie_is_no_lead(self):
        text = tables.render(document())
        self.assertIn("10.0 ms, 800 TFLOP/s | 12.0 ms, 667 TFLOP/s | 1.00 / 1.00", self.line(text, "attention_sm90"))
        self.assertTrue(self.line(text, "cuDNN").endswith("| faster, sustained |"))

    def test_chapter_00_on_a_device_that_takes_a_millisecond_for_everything(self):
        """Each case has a part of the table and each side a row, with TFLOP/s, or with TB/s if only
        bytes matter."""
        one, timing = document(), {"seconds": 1e-3, "spread": 0.0, "samples": 1}
        warmup = [case for case in cases.all_cases() if case.group == "warmup"]
        one["cases"] = []
        for case in warmup:
            names = [*case.ours, *(peers.Peers(self.root).label(peer, case) for peer in case.peers)]
            one["cases"].append({**{name: getattr(case, name) for name in ("name", "group", "operator", "precision", "sizes", "causal", "states")},
                                 "operations": case.operations(), "bytes": case.bytes(),
                                 "rows": [{"name": name, "ours": name in case.ours, "errors": {"y": 1e-7}, "message": "", "recorded": True,
                                           "burst": timing, "sustained": timing, "whole": None} for name in names]})
        text = tables.render(one)
        self.assertEqual(text.count("\n| **"), len(warmup))
        for case in warmup:
            rate = f"{case.operations() * 1e-9:.0f} TFLOP/s" if case.operations() else f"{case.bytes() * 1e-9:.2f} TB/s"
            self.assertIn(f"| {case.ours[0]} | y 1.00e-07 | 1.00 ms, {rate} | 1.00 ms, {rate} | 1.00 / 1.00 |  |  |", text)
        self.assertTrue(self.line(text, "conv2d in PyTorch (cuDNN)"))

    def test_a_case_without_ours_is_still_a_table(self):
        one = document()
        one["cases"][0]["rows"] = one["cases"][0]["rows"][1:]
        self.assertIn("| FLA chunk | 1.50e-03 | 500 us |", tables.render(one))

    def test_files_are_merged_by_case(self):
        first, second, other = (self.root / name for name in ("a.json", "b.json", "c.json"))
        compare.write(first, document())
        later = document()
        later["cases"] = [copy.deepcopy(later["cases"][1])]
        later["cases"][0]["rows"][0]["burst"]["seconds"] = 8e-3
        compare.write(second, later)
        merged = tables.read([first, second])
        self.assertEqual([case["name"] for case in merged["cases"]], ["wkv_fp32", "attention"])
        self.assertEqual(merged["cases"][1]["rows"][0]["burst"]["seconds"], 8e-3)
        later["conditions"]["commit"] = "another"
        compare.write(second, later)
        self.assertEqual(tables.read([first, second])["conditions"]["commit"], document()["conditions"]["commit"] + ", another")
        later["conditions"]["driver"] = "2"
        compare.write(second, later)
        with self.assertRaisesRegex(ValueError, "other conditions"):
            tables.read([first, second])
        other.write_text(json.dumps({"schema": "kernel-ladder/runs/1"}))
        with self.assertRaisesRegex(ValueError, "allowed: kernel-ladder/compare/1"):
            tables.read([other])


class SeveralRuns(InAFolder):
    def test_each_has_its_own_part_and_a_case_counts_where_it_was_measured_last(self):
        first, second = (self.root / name for name in ("a.json", "b.json"))
        old, young = document(), document()
        old["conditions"]["date"], young["conditions"]["date"] = "2026-01-01", "2026-01-02"
        young["cases"] = young["cases"][1:]
        compare.write(first, old)
        compare.write(second, young)
        runs = tables.runs_of([first, second], {})
        self.assertEqual([[case["name"] for case in run["cases"]] for run in runs], [["attention"], ["wkv_fp32"]])
        young["cases"] = document()["cases"]
        compare.write(second, young)
        self.assertEqual(len(tables.runs_of([first, second], {})), 1)
        young["cases"][0]["rows"][0]["code"] = "now"
        compare.write(second, young)
        self.assertEqual([run["conditions"]["date"] for run in tables.runs_of([first, second], {"wkv_fp32": {young["cases"][0]["rows"][0]["name"]: "now"}})], ["2026-01-02"])


class KernelsThatHaveChanged(unittest.TestCase):
    def test_their_rows_are_marked_and_the_commit_is_named(self):
        one = document()
        one["conditions"]["commit"] = "abc1234"
        row = one["cases"][0]["rows"][0]
        row["code"] = "then"
        ours = {case["name"]: {each["name"]: "now" for each in case["rows"]} for case in one["cases"]}
        self.assertIn(f"| {row['name']}° |", tables.render(one, ours))
        self.assertIn("at commit abc1234", tables.render(one, ours))
        for case in one["cases"]:
            for each in case["rows"]:
                each["code"] = "now"
        self.assertNotIn("°", tables.render(one, ours))


@unittest.skipUnless(torch, "PyTorch is not installed")
class Truth(unittest.TestCase):
    """Compares the float64 recurrences with the sums that they compute."""

    def test_recurrence(self):
        B, T, H, K, V = 2, 7, 3, 4, 5
        generator = torch.Generator().manual_seed(1)
        q, k, log_w = (torch.rand((B, T, H, K), generator=generator).double() for _ in range(3))
        v = torch.rand((B, T, H, V), generator=generator).double()
        u, state = torch.rand((H, K), generator=generator).double(), torch.rand((B, H, K, V), generator=generator).double()
        log_w = -log_w
        for bonus in (u, None):
            o, last = workloads.recurrence(q, k, v, log_w, bonus, state, 0.5)
            for t in range(T):
                # the end of the part of log_w that the state at t contains
                end = t if bonus is not None else t + 1
                row = torch.einsum("bhk,bhkv->bhv", q[:, t] * torch.exp(log_w[:, :end].sum(1)), state)
                for s in range(t + (bonus is None)):
                    row += torch.einsum("bhk,bhk,bhv->bhv", q[:, t] * torch.exp(log_w[:, s + 1:end].sum(1)), k[:, s], v[:, s])
                if bonus is not None:
                    row += torch.einsum("bhk,hk,bhk,bhv->bhv", q[:, t], u, k[:, t], v[:, t])
                self.assertLess(float((o[:, t] - 0.5 * row).abs().max()), 1e-12)
            expected = torch.exp(log_w.sum(1))[..., None] * state
            for s in range(T):
                expected = expected + (torch.exp(log_w[:, s + 1:].sum(1)) * k[:, s])[..., None] * v[:, s, :, None, :]
            self.assertLess(float((last - expected).abs().max()), 1e-12)

    def test_a_word_has_eight_weights_of_a_column_the_first_in_its_lowest_bits(self):
        case = mock.Mock(operator="int4_matmul", sizes={"K": 16, "N": 3})
        q = torch.arange(48).reshape(16, 3) * 5 % 16
        words = sum(q[i::8] << 4 * i for i in range(8))
        stored = torch.stack([words >> 8 * byte & 255 for byte in range(4)], dim=-1).to(torch.uint8).reshape(2, 12)
        self.assertTrue(torch.equal(workloads.weights_of(case, {"w": stored}), q.to(torch.uint8)))

    def test_attention_masks_from_the_last_key(self):
        q, k, v = torch.rand((1, 2, 4)).double(), torch.rand((1, 5, 4)).double(), torch.rand((1, 5, 3)).double()
        o = workloads.softmax_attention(q, k, v, 0.5, True)
        first = torch.softmax(0.5 * (k[0, :4] @ q[0, 0]), 0) @ v[0, :4]
        last = torch.softmax(0.5 * (k[0] @ q[0, 1]), 0) @ v[0]
        self.assertLess(float((o[0] - torch.stack((first, last))).abs().max()), 1e-12)
