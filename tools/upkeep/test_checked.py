"""Tests of which of CI's expensive checks are due."""
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import checked
from for_tests import InAFolder


class Due(InAFolder):
    def test_what_is_unknown_or_changed_is_due_and_a_tenth_of_the_rest(self):
        hashes = {f"nvcc {n}.cu": "a" for n in range(1000)}
        passed = {**hashes, "nvcc 7.cu": "b"}
        del passed["nvcc 8.cu"]
        due = checked.due(hashes, passed, "commit")
        self.assertEqual((due["nvcc 7.cu"], due["nvcc 8.cu"]), ("changed", "new"))
        drawn = {check for check, why in due.items() if why == "drawn"}
        self.assertTrue(60 < len(drawn) < 140, len(drawn))
        others = {check for check, why in checked.due(hashes, passed, "another").items() if why == "drawn"}
        self.assertNotEqual(drawn, others)
        self.assertEqual(checked.due(hashes, passed, "commit"), due)

    def hashes(self, files):
        files = {".ci/compile_cuda": "nvcc", **files}
        self.write(files)
        with mock.patch.object(checked, "ROOT", self.root):
            return checked.Checks([*files]).hashes

    def changed(self, **edits):
        files = {"03_a/kernel.cu": '#include "common/cuda/x.hpp"\nint a;', "03_a/README.md": "text\n\n**Hole 1: b**\nhint\n\n## Next\nmore",
                 "03_a/exercise.cu": "int stub;", "03_a/mistakes/m.patch": "+ x", "03_a/more/scratch.holes": "holes", "03_a/02_b/kernel.cu": "int b;", "common/cuda/x.hpp": "int x;"}
        before = self.hashes(files)
        after = self.hashes({**files, **{name: text for name, text in edits.values()}})
        return {check for check in after if before.get(check) != after[check]}

    def test_a_lesson_is_due_when_its_kernel_its_patches_or_its_hints_change(self):
        for name, text in (("03_a/kernel.cu", "int c;"), ("03_a/mistakes/m.patch", "+ y"), ("03_a/exercise.cu", "int y;"), ("common/cuda/x.hpp", "int y;"),
                           ("03_a/README.md", "text\n\n**Hole 1: b**\nanother\n\n## Next\nmore")):
            changed = self.changed(edit=(name, text))
            self.assertIn("lesson 03", changed, name)
            self.assertNotIn("lesson 03.02_b", changed, name)

    def test_comments_and_prose_change_nothing(self):
        self.assertEqual(self.changed(edit=("03_a/kernel.cu", '#include "common/cuda/x.hpp"\n// new\nint a;')), set())
        self.assertEqual(self.changed(edit=("03_a/README.md", "other\n\n**Hole 1: b**\nhint\n\n## Next\nelse")), set())

    def test_a_source_is_due_when_what_it_includes_changes(self):
        self.assertEqual({check for check in self.changed(edit=("common/cuda/x.hpp", "int y;")) if check.startswith("nvcc ")},
                         {"nvcc 03_a/kernel.cu", "nvcc 03_a/more/scratch.holes", "nvcc library"})
        self.assertEqual(self.changed(edit=("03_a/more/scratch.holes", "others")), {"nvcc 03_a/more/scratch.holes", "lesson 03", "solution 03", "loop"})

    def test_a_fault_planted_in_a_lesson_of_the_tree_makes_it_due(self):
        plant = {"01_naive_cpu/kernel.cpp": "lesson 01", "02_openmp/05_register_tiles/kernel.cpp": "lesson 02.05_register_tiles",
                 "03_cuda_baseline/exercise.cu": "lesson 03", "04_no_atomic/test.cpp": "lesson 04", "05_float4/more/boss.patch": "lesson 05",
                 "06_shared_mem/more/mistakes/first_barrier_missing.patch": "lesson 06", "07_chunkwise/02_chunk_walk/xray_test.cpp": "lesson 07.02_chunk_walk",
                 "07_chunkwise/15_wkv_and_gla/kernel.cu": "lesson 07.15_wkv_and_gla", "08_flash_attention/11_tma/more/solutions/1a.cu": "lesson 08.11_tma",
                 "08_flash_attention/15_hopper/kernel_sm90.cu": "lesson 08.15_hopper"}
        names = checked.listed()
        with TemporaryDirectory() as folder:
            for name in names:
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(checked.ROOT / name, Path(folder) / name)
            with mock.patch.object(checked, "ROOT", Path(folder)):
                passed = checked.Checks(names).hashes
                for name in plant:
                    with open(Path(folder) / name, "a") as file:
                        file.write("int planted;\n")
                changed = {check for check, why in checked.due(checked.Checks(names).hashes, passed, "commit").items() if why == "changed"}
        self.assertEqual(set(plant.values()) - changed, set())
        self.assertEqual({f"nvcc {name}" for name in plant if name.endswith(".cu") and "/solutions/" not in name} - changed, set())
        self.assertLess(len(changed), 40, changed)

    def test_every_lesson_and_source_of_the_tree_is_known(self):
        checks = checked.Checks(checked.listed()).hashes
        for check in ("lesson 03", "solution 03", "lesson 07.02_chunk_walk", "nvcc 05_float4/kernel.cu", "nvcc library", "loop", "sanitizers hopper"):
            self.assertIn(check, checks)
        names = checked.must_fail({"03", "07.02_chunk_walk"})
        for name in ("stub.03.kernel", "stub.03.scratch", "mistake.03.decay_first", "boss.03.kernel", "stub.07.02_chunk_walk.kernel"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if not name.split(".", 1)[1].startswith(("03.", "07.02"))])
