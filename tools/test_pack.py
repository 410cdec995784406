"""Tests of ./ladder pack, without a network and without building."""
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import unittest
from unittest import mock

from for_tests import InAFolder, printed
from ladder_tools import pack
from ladder_tools.place import ROOT, Failed


class Words(InAFolder):
    def test_wrong_arguments_are_refused(self):
        self.assert_refused(
            lambda words: pack.Arguments(words, str(self.root)),
            (
                (["x.zip"], "ends with .tar.gz"),
                (["no/such/x.tar.gz"], "in a folder that exists"),
                (["a.tar.gz", "b.tar.gz"], "one file"),
                (["--path"], "needs a name"),
                (["--path", "nights"], "path is 'nights'; allowed: evening"),
                (["--solution"], "did you mean --solutions"),
                (["--solutions", "--path", "day"], "without --path"),
            ),
        )
        self.assertEqual(pack.Arguments(["x.tar.gz"], str(self.root)).to, self.root / "x.tar.gz")

    def test_the_name_has_the_distribution(self):
        self.write(
            {
                "release": (
                    'PRETTY_NAME="Debian GNU/Linux 13"\nVERSION_ID="13"\nID=debian\nID_LIKE=x\n'
                )
            }
        )
        self.assertEqual(pack.system(self.root / "release"), ("debian", "13"))
        self.assertEqual(pack.system(self.root / "absent"), ("", ""))

    def test_a_path_is_its_lessons_with_an_exercise(self):
        self.assertEqual(
            pack.lessons_in("evening"),
            ["00.01_first_kernel", "00.04_who_reads_what", "00.06_stencil"],
        )
        self.assertGreater(len(pack.lessons_in(None)), 50)


class Archive(InAFolder):
    def test_an_archive_belongs_to_root_and_appears_whole(self):
        self.write({"tree/a": "1", "tree/b/c": "2"})
        to = self.root / "x.tar.gz"
        pack.archive(to, [(self.root / "tree", "top")])
        with tarfile.open(to) as tar:
            self.assertEqual(
                [(each.name, each.uid, each.uname) for each in tar if each.isfile()],
                [("top/a", 0, "root"), ("top/b/c", 0, "root")],
            )
        before = to.read_bytes()
        with self.assertRaises(OSError):
            pack.archive(to, [(self.root / "tree", "top"), (self.root / "absent", "y")])
        self.assertEqual(
            (to.read_bytes(), sorted(each.name for each in self.root.iterdir())),
            (before, ["tree", "x.tar.gz"]),
        )

    def test_no_place_no_room_and_no_tool_are_told(self):
        with self.assertRaisesRegex(Failed, "cannot be written"):
            pack.require_place_for(self.root / "absent" / "x.tar.gz")
        with self.assertRaisesRegex(Failed, "GB are left"):
            pack.require_room(self.root, 10**6)
        with self.assertRaisesRegex(Failed, "no_such_tool is not installed"):
            pack.output_of(["no_such_tool"], "")
        with self.assertRaisesRegex(Failed, "it failed\nwhy"):
            pack.output_of(["sh", "-c", "echo why; exit 1"], "it failed")

    def test_another_compiler_than_the_packs_is_told(self):
        index = (
            "Package: g++-12\nArchitecture: amd64\nDepends: a,\n b\nVersion: 12.2.0-9\n\nPackage:"
            " gcc-12\nVersion: 1\n"
        )
        for installed, is_told in (("12.2.0-9", False), ("12.2.0-1", True)):
            done = subprocess.CompletedProcess([], 0, stdout=installed)
            with mock.patch.object(pack.subprocess, "run", return_value=done):
                if is_told:
                    self.assertRaisesRegex(
                        Failed,
                        "g.*-12 is 12.2.0-1 here, and the pack would have 12.2.0-9",
                        pack.require_same_compiler,
                        index,
                    )
                else:
                    pack.require_same_compiler(index)


class FromGit(InAFolder):
    def setUp(self):
        super().setUp()
        self.as_root_of(pack)
        self.write(
            {
                "05_x/kernel.cu": "k",
                "05_x/more/solutions/1a.cu": "s",
                "05_x/07_y/more/solutions/1a.cu": "s",
                "docs/solutions.md": "d",
                ".gitignore": "/dist/\n",
            }
        )
        identity = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@a",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@a",
        }
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
            subprocess.run(
                ["git", *words], cwd=self.root, check=True, env={**os.environ, **identity}
            )

    def files(self, folder):
        return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())

    def test_the_solutions_are_left_out_or_alone(self):
        commit = pack.head()
        pack.extract(commit, self.root / "dist" / "1", ".", f":(exclude,glob){pack.SOLUTIONS}")
        self.assertEqual(
            self.files(self.root / "dist" / "1"),
            [".gitignore", "05_x/kernel.cu", "docs/solutions.md"],
        )
        to = self.root / "dist" / "s.tar.gz"
        printed(pack.pack_solutions, commit, to)
        with tarfile.open(to) as tar:
            self.assertEqual(
                sorted(each.name for each in tar if each.isfile()),
                [
                    "kernel-ladder/05_x/07_y/more/solutions/1a.cu",
                    "kernel-ladder/05_x/more/solutions/1a.cu",
                ],
            )

    def test_changed_files_are_told(self):
        self.write({"05_x/kernel.cu": "changed", "new": ""})
        self.assertRaisesRegex(
            Failed, r"2 files differ from the last commit \(05_x/kernel.cu, new\)", pack.head
        )


class Packages(InAFolder):
    def test_the_index_has_the_fields_the_size_and_the_hash(self):
        self.write({"a_1_all.deb": "12345"})
        with mock.patch.object(pack, "output_of", return_value="Package: a\nVersion: 1\n"):
            index = pack.index_of(self.root)
        self.assertEqual(
            index,
            (
                "Package: a\nVersion: 1\nFilename: ./a_1_all.deb\nSize: 5\nSHA256:"
                f" {hashlib.sha256(b'12345').hexdigest()}\n"
            ),
        )

    def test_install_refuses_in_a_sentence(self):
        script = str(ROOT / "tools" / "room" / "install")
        for words, status, said in (
            (["now"], 2, "takes no arguments"),
            ([], 1, "no packages in room/debs"),
        ):
            done = subprocess.run([script, *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, status)
            self.assertIn(said, done.stderr)


class InARoom(InAFolder):
    def test_doctor_tells_of_the_pack_and_its_commit(self):
        self.write({
            "room/debs/Packages": "",
            "room/system": "debian 12 amd64\n",
            "room/path": "day\n",
            "room/commit": "1a2b3c4d\n",
        })
        for name in ("ladder", "CMakeLists.txt"):
            shutil.copy(ROOT / name, self.root)
        done = subprocess.run(
            [self.root / "ladder", "doctor", "--json"], capture_output=True, text=True, check=True
        )
        said = json.loads(done.stdout)
        self.assertEqual(said["pack"], "made on debian 12 amd64, for day")
        self.assertRegex(said["version"], "commit 1a2b3c4d$")
        self.assertEqual(list(said["back_ends"]), ["cpu", "emulator", "cuda"])


if __name__ == "__main__":
    unittest.main()
