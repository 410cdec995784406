"""Helpers that the tests share."""
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


def wrong_result(message, **facts):
    """The record of a wrong result (docs/xray.md)."""
    return {"fact": "wrong result", "message": message, "case": "", "all_zero": False, "name": [],
            "equals": "", "unnamed": [], "map": [], "numbers": [], **facts}


def failed_launch(message, kind):
    """The record of a launch in which an error ended a block."""
    return {"fact": "failed launch", "message": message, "kind": kind, "thread": [0, 0, 0],
            "error": "cudaErrorLaunchFailure"}


class Refusals(unittest.TestCase):
    def assert_refused(self, work, rows):
        """Expects a Refused for each row of words, with a sentence that matches the row's regular
        expression."""
        for words, said in rows:
            with self.subTest(words), self.assertRaisesRegex(Refused, said):
                work(words)


class InAFolder(Refusals):
    """`root` is the test's own folder, empty at first and removed at the end."""

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
        """A program that plays GoogleTest and writes the report to `report`."""
        return self.executable("program", "#!/usr/bin/env python3\n"
                               "import json, os, signal, sys, time\n"
                               "report = next(word for word in sys.argv if 'output' in word)"
                               ".split(':', 1)[1]\n" + text)

    def during(self, *patches):
        """Applies these of unittest.mock's patches until the test ends."""
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def as_root_of(self, *modules):
        """Makes these modules take `root` for the tree."""
        self.during(*(mock.patch.object(module, "ROOT", self.root) for module in modules))
