"""exercises.py --adopt writes the patches of exercises that were changed, and no others."""
from pathlib import Path
from unittest import mock

import exercises
from for_tests import InAFolder
from ladder_tools import patches, place

PATCH = "--- a/03_x/kernel.cu\n+++ b/03_x/exercise.cu\n@@ -2,2 +2,2 @@\n-int b = 1;\n+// TODO(1): write it\n int c;\n"


class Adopt(InAFolder):
    def setUp(self):
        super().setUp()
        for folder, number in (("03_x", 3), ("04_y", 4)):
            self.write({f"{folder}/kernel.cu": "int b = 1;\nint c;\n", f"{folder}/exercise.cu": "// TODO(1): write it\nint c;\n",
                        f"{folder}/more/exercise.patch": PATCH.replace("03_x", folder)})

    def adopted(self, *arguments):
        """The folders whose patches are others now."""
        each = [place.Exercise(Path(folder) / "exercise.cu") for folder in ("03_x", "04_y")]
        before = {one.patch: (self.root / one.patch).read_text() for one in each}
        with mock.patch.multiple(exercises, ROOT=self.root, exercises=lambda kind="exercise": each if kind == "exercise" else [],
                                 made=lambda one: patches.made(one, self.root), adopt=lambda one: patches.adopt(one, self.root),
                                 place_of=lambda word: mock.Mock(folder=word)):
            self.assertEqual(exercises.main(["--adopt", *arguments]), 0)
        return [str(path.parents[1]) for path, text in before.items() if (self.root / path).read_text() != text]

    def test_only_what_has_changed_is_written(self):
        self.assertEqual(self.adopted(), [])
        for folder in ("03_x", "04_y"):
            self.write({f"{folder}/exercise.cu": "// TODO(1): write it all\nint c;\n"})
        self.assertEqual(self.adopted("04_y"), ["04_y"])
        self.assertEqual(self.adopted(), ["03_x"])

    def test_a_patch_that_fits_no_more_is_written(self):
        self.write({"03_x/kernel.cu": "int b = 2;\nint c;\n"})
        self.assertEqual(self.adopted("03_x"), ["03_x"])
