"""What tests have in common."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from ladder_tools.place import Refused


def printed(work, *arguments):
    """(what the function returns, what it prints)"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        result = work(*arguments)
    return result, said.getvalue()


class Refusals(unittest.TestCase):
    def assert_refused(self, work, rows):
        """By a sentence, for each row of words and a regular expression of the sentence."""
        for words, said in rows:
            with self.subTest(words), self.assertRaisesRegex(Refused, said):
                work(words)


class InAFolder(Refusals):
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

    def executable(self, name, text):
        self.write({name: text})
        (self.root / name).chmod(0o755)
        return self.root / name

    def program(self, text):
        """One that is told to write GoogleTest's report to `report`."""
        return self.executable("program", "#!/usr/bin/env python3\n"
                               "import json, os, signal, sys, time\n"
                               "report = next(word for word in sys.argv if 'output' in word)"
                               ".split(':', 1)[1]\n" + text)

    def during(self, *patches):
        """These of unittest.mock's, until the test ends."""
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def as_root_of(self, *modules):
        """What these modules take for the tree."""
        self.during(*(mock.patch.object(module, "ROOT", self.root) for module in modules))
