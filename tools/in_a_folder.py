"""What tests have in common that write files."""
import tempfile
import unittest
from pathlib import Path
from unittest import mock


class InAFolder(unittest.TestCase):
    """`root` is a folder of the test's own, which is empty before and gone behind it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, files):
        """{path in the folder: text}"""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def during(self, *patches):
        """These of unittest.mock's, until the test ends."""
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def as_root_of(self, *modules):
        """What these modules take for the tree."""
        self.during(*(mock.patch.object(module, "ROOT", self.root) for module in modules))
