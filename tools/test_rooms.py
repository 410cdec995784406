"""The check of the includes refuses what it must, and nothing else."""
import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

LOADER = importlib.machinery.SourceFileLoader("check_rooms", str(Path(__file__).parent.parent / ".ci/check_rooms"))
SPEC = importlib.util.spec_from_loader("check_rooms", LOADER)
ROOMS = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(ROOMS)


class Rooms(unittest.TestCase):
    def test_refuses_arrows_against_the_order(self):
        for path, included in (
            ("common/core/device.hpp", "common/judge/judging.hpp"),
            ("common/judge/judging.cpp", "common/operators/wkv/problem.hpp"),
            ("common/testing/xray.cpp", "common/program/climb.hpp"),
            ("common/operators/wkv/operator.cpp", "common/program/selection.hpp"),
            ("common/xray/run.cpp", "common/operators/wkv/operator.hpp"),
            ("common/emulator/src/runtime.cpp", "common/core/device.hpp"),
            ("common/core/registry.cpp", "03_cuda_baseline/kernel.hpp"),
            ("03_cuda_baseline/test.cpp", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
            ("07_chunkwise/15_wkv_and_gla/test.cpp", "common/program/selection.hpp"),
            ("07_chunkwise/15_wkv_and_gla/kernel.cu", "Eigen/Dense"),
            ("03_cuda_baseline/exercise.cu", "gtest/gtest.h"),
            ("07_chunkwise/02_chunk_walk/kernel.cu", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
        ):
            self.assertTrue(ROOMS.wrong(path, included), (path, included))

    def test_allows_those_along_the_order(self):
        for path, included in (
            ("common/program/climb.cpp", "common/operators/precision.hpp"),
            ("07_chunkwise/02_chunk_walk/kernel.cu", "07_chunkwise/teaching_chunks.hpp"),
            ("07_chunkwise/limits_test.cpp", "07_chunkwise/06_gla_layer/gla_layer.hpp"),
            ("common/operators/wkv/suite.cpp", "common/testing/tests.hpp"),
            ("common/operators/wkv/operator.hpp", "common/operators/attention/problem.hpp"),
            ("07_chunkwise/15_wkv_and_gla/test.cpp", "07_chunkwise/15_wkv_and_gla/segments.hpp"),
            ("07_chunkwise/06_gla_layer/gla_layer_operator.cpp", "Eigen/Dense"),
            ("best/measure.cpp", "common/program/timing.hpp"),
            ("tests/90_open_operators/test.cpp", "common/testing/suite.hpp"),
        ):
            self.assertIsNone(ROOMS.wrong(path, included), (path, included))


if __name__ == "__main__":
    unittest.main()
