"""./ladder pack makes one archive for a room without a network: the tree, the distribution's
packages, and a filled compiler cache."""
import contextlib
import fcntl
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from ladder_tools.building import Build, require_writable, say
from ladder_tools.checking import Check
from ladder_tools.learning import paths
from ladder_tools.place import ROOT, Failed, Refused, exercises, place_of, refused, text_of
from ladder_tools.programs import ask_for_program, program_of
from ladder_tools.programs import Arguments as OfProgram
from ladder_tools.rows import lessons_of_story

TOP = "kernel-ladder"  # the archive's only folder
SOLUTIONS = "[0-9][0-9]_*/**/more/solutions/**"
_GIT = ("git", "-c", f"safe.directory={ROOT}")
# Beyond what ./ladder installs: the cache, git for ./ladder diff, and the plugin for the X-ray.
_MORE_PACKAGES = ("ccache", "git")
_NEEDS_GB = {True: 3, False: 6}  # of a path, of everything


class Arguments:
    def __init__(self, words, caller="."):
        self.file, self.path, self.solutions, self.fill = None, None, False, None
        words = list(words)
        while words:
            word = words.pop(0)
            if word == "--path":
                if not words:
                    raise Refused(f"--path needs a name; allowed: {' '.join(paths())}")
                self.path = words.pop(0)
                if self.path not in paths():
                    raise refused("path", self.path, paths())
            elif word == "--solutions":
                self.solutions = True
            elif word == "--fill":  # how pack calls itself inside the new tree
                self.fill = words.pop(0)
            elif word.startswith("-"):
                raise refused("option", word, ("--path", "--solutions"))
            elif self.file:
                raise Refused(f"pack takes one file, not '{self.file}' and '{word}'")
            else:
                self.file = word
        if self.solutions and self.path:
            raise Refused("--solutions packs those of all lessons; allowed: it without --path")
        if self.file is None:
            self.to = ROOT / "dist" / default_name(self.solutions)
        else:
            self.to = Path(caller) / self.file
            if not self.file.endswith(".tar.gz"):
                raise Refused(f"file is '{self.file}'; allowed: a name that ends with .tar.gz")
            if self.to.is_dir() or not self.to.parent.is_dir():
                raise Refused(f"file is '{self.file}'; allowed: a file in a folder that exists")


def system(release="/etc/os-release"):
    """(ID, VERSION_ID) of the distribution, such as ("debian", "12")."""
    found = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)"?$', text_of(release), re.MULTILINE))
    return found.get("ID", ""), found.get("VERSION_ID", "")


def default_name(solutions):
    return (
        f"{TOP}-solutions.tar.gz"
        if solutions
        else f"{'-'.join(filter(None, (TOP, *system())))}.tar.gz"
    )


def output_of(command, failure, **options):
    """What the command prints. If it fails, Failed with these words and its last lines."""
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            **options,
        )
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not installed, and pack needs it") from None
    if done.returncode:
        raise Failed("\n".join([failure, *(done.stderr or done.stdout).strip().splitlines()[-8:]]))
    return done.stdout


def head():
    """The commit to pack. Changed files would be missing in the pack, so there must be none."""
    git = [*_GIT, "-C", str(ROOT)]
    commit = output_of(
        [*git, "rev-parse", "HEAD"],
        "pack takes the files of the last commit, and this folder is no git repository",
    ).strip()
    changed = output_of([*git, "status", "--porcelain"], "git status failed").splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed[:3])
        raise Failed(
            f"{len(changed)} files differ from the last commit"
            f" ({names}{', ...' if len(changed) > 3 else ''}), and a pack has only what is"
            " committed; commit or stash them first"
        )
    return commit


def extract(commit, folder, *pathspecs):
    """The commit's files with these git pathspecs, in `folder`."""
    command = [*_GIT, "-C", str(ROOT), "archive", "--format=tar", commit, "--", *pathspecs]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            archive.extractall(folder)
    if process.returncode:
        raise Failed("git archive failed")


def require_place_for(path):
    """Tries to create a file beside `path` before the minutes of work."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent):
            pass
    except OSError as problem:
        raise Failed(
            f"{path} cannot be written ({problem.strerror}); name a file in a folder of your own:"
            " ./ladder pack FILE"
        ) from None


@contextlib.contextmanager
def working_folder():
    """A folder in dist/ for one pack at a time, without those of packs that were killed."""
    require_writable("dist")
    with open(ROOT / "dist" / ".pack.lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed("another ./ladder pack is working in dist/") from None
        for left in (ROOT / "dist").glob(".pack_*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=ROOT / "dist", prefix=".pack_") as folder:
            yield Path(folder)


@contextlib.contextmanager
def written_whole(path):
    """A file that appears at `path` once the block has ended well; nothing is left otherwise."""
    part = path.with_name(f"{path.name}.part{os.getpid()}")
    try:
        with open(part, "wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def archive(to, entries):
    """Writes a .tar.gz of [(folder or file, its name in the archive)], which belongs to root."""

    def as_root(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        return entry

    with written_whole(to) as file, gzip.GzipFile(
        "", "wb", compresslevel=1, fileobj=file
    ) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        for source, name in entries:
            tar.add(source, name, filter=as_root)


def index_of(folder):
    """The text of an apt repository's Packages for the .deb files of a folder."""
    paragraphs = []
    for deb in sorted(folder.glob("*.deb")):
        fields = output_of(["dpkg-deb", "--field", deb], f"{deb.name} is no package").rstrip()
        paragraphs.append(
            f"{fields}\nFilename: ./{deb.name}\nSize: {deb.stat().st_size}\nSHA256:"
            f" {hashlib.sha256(deb.read_bytes()).hexdigest()}\n"
        )
    return "\n".join(paragraphs)


def packages():
    """The names of the packages that a room needs."""
    listed = re.search(r"^debian_packages=\(([^)]*)\)", text_of("ladder"), re.MULTILINE)[1].split()
    compiler = output_of(["apt-cache", "depends", "--important", "g++"], "apt-cache failed")
    version = re.search(r"Depends: g\+\+-([0-9]+)", compiler)
    if version is None:
        raise Failed(
            "apt knows no package g++; call apt-get update as root, then ./ladder pack again"
        )
    return [*listed, *_MORE_PACKAGES, f"gcc-{version[1]}-plugin-dev"]


def download(names, folder):
    """Downloads these packages and all that they depend on, as if nothing were installed, and
    writes the index. The room's computers may therefore have any of them already, or none."""
    (folder / "partial").mkdir(parents=True)
    with tempfile.TemporaryDirectory() as state:
        (Path(state) / "status").touch()
        options = [
            f"Dir::State::status={state}/status",
            f"Dir::Cache::archives={folder.resolve()}",
            f"Dir::Cache::pkgcache={state}/pkgcache.bin",
            f"Dir::Cache::srcpkgcache={state}/srcpkgcache.bin",
            "Debug::NoLocking=1",
            "APT::Sandbox::User=",
        ]
        output_of(
            [
                "apt-get",
                "-qq",
                *(word for option in options for word in ("-o", option)),
                "install",
                "-y",
                "--download-only",
                "--no-install-recommends",
                *names,
            ],
            (
                "apt-get could not download the packages (is there a network? apt-get update as"
                " root renews the list):"
            ),
            stdin=subprocess.DEVNULL,
        )
    shutil.rmtree(folder / "partial")
    (folder / "lock").unlink(missing_ok=True)
    (folder / "Packages").write_text(index_of(folder))


def require_same_compiler(index):
    """The cache is of use only with the compiler that filled it."""
    of_pack = dict(
        re.findall(
            r"^Package: (g\+\+-[0-9]+)\n(?:\S.*\n| .*\n)*?Version: (\S+)$", index, re.MULTILINE
        )
    )
    for name, version in of_pack.items():
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True
        )
        if done.returncode == 0 and done.stdout != version:
            raise Failed(
                f"{name} is {done.stdout} here, and the pack would have {version}, for which this"
                f" machine's compiler cannot fill the cache; call apt-get install {name} as root"
                " first"
            )


def require_room(folder, gigabytes):
    left = shutil.disk_usage(folder).free / 1e9
    if left < gigabytes:
        raise Failed(
            f"{left:.1f} GB are left for {folder}; a pack needs {gigabytes} GB there while it is"
            " made"
        )


def _as_in_the_room(tree, *words):
    """Calls the new tree's ./ladder, which uses the cache in its room/."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CCACHE_")
        and name not in ("LADDER_LOCKED", "PYTHONPATH", "CC", "CXX")
    }
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    status = subprocess.run(
        [tree / "ladder", "--emulator", *words], cwd=tree, env=environment, stdin=subprocess.DEVNULL
    ).returncode
    if status:
        raise Failed("the pack's own tree could not be built, so no pack was written")


def fill(path, build):
    """Inside the new tree: builds what the checks of the path's exercises need and what ./ladder
    run and xray need, so that the compiler's cache has it. Without a path also all tests."""
    of_path, names = path != "all", lessons_in(None if path == "all" else path)
    chosen = [
        each for kind in ("exercise", "scratch") for each in exercises(kind) if each.lesson in names
    ]
    for each in chosen:
        mine = ROOT / each.mine
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text(text_of(each.solution))
    build.lock()
    runs = program_of(lessons_of_story(False), build.folder)
    xray = ask_for_program(OfProgram("xray", ["03", "04", "05"], str(ROOT)), build.folder)
    build.prepare()
    build.build(
        f"{runs}_emulated",
        *([f"{xray}_xray"] if build.has_xray() else []),
        *([] if of_path else ["all"]),
        *(target for each in chosen for target in Check(each, build).programs()),
    )


def lessons_in(path):
    """The names of a path's lessons, such as 03 and 00.01_first_kernel; of all without a path."""
    if path:
        places = [place_of(name) for name in paths()[path]]
        return [
            each.lesson
            for each in exercises()
            if any(str(each.folder) == place.folder for place in places)
        ]
    return [each.lesson for each in exercises()]


def pack(words, preset, caller):
    arguments = Arguments(words, caller)
    if arguments.fill is not None:
        fill(arguments.fill, Build(preset))
        return 0
    commit = head()
    require_writable("dist")
    require_place_for(arguments.to)
    if arguments.solutions:
        return pack_solutions(commit, arguments.to)
    begun = time.time()
    for tool in ("apt-get", "dpkg-deb", "ccache"):
        if not shutil.which(tool):
            raise Failed(
                f"{tool} is not installed, and pack needs it; make the pack on the Debian or Ubuntu"
                " that the room's computers have, with ccache installed"
            )
    require_room(ROOT / "dist", _NEEDS_GB[arguments.path is not None])
    with working_folder() as folder:
        tree = folder / TOP
        extract(commit, tree, ".", f":(exclude,glob){SOLUTIONS}")
        room = tree / "room"
        say(f"downloading the packages of {' '.join(system())}")
        download(packages(), room / "debs")
        require_same_compiler(text_of(room / "debs" / "Packages"))
        (room / "packages").write_text("".join(f"{name}\n" for name in packages()))
        architecture = output_of(["dpkg", "--print-architecture"], "dpkg failed").strip()
        (room / "system").write_text(f"{' '.join((*system(), architecture))}\n")
        (room / "commit").write_text(f"{commit[:8]}\n")
        (room / "path").write_text(f"{arguments.path or 'all'}\n")
        shutil.copy(tree / "tools" / "room" / "ROOM.md", tree)
        cache = ROOT / "dist" / ".room_cache"  # kept, so that the next pack is made sooner
        cache.mkdir(exist_ok=True)
        (room / "ccache").symlink_to(cache)
        say("filling the compiler's cache, which takes minutes the first time")
        _as_in_the_room(tree, "pack", "--fill", arguments.path or "all")
        for made in ("build-emulator", "my", "out"):
            shutil.rmtree(tree / made, ignore_errors=True)
        (room / "ccache").unlink()
        # what earlier packs needed and this one does not
        subprocess.run(
            ["ccache", "--evict-older-than", f"{int(time.time() - begun)}s"],
            env={**os.environ, "CCACHE_DIR": str(cache)},
            stdout=subprocess.DEVNULL,
        )
        say(f"writing {arguments.to}")
        archive(arguments.to, [(tree, TOP), (cache, f"{TOP}/room/ccache")])
    print(
        f"written: {arguments.to} ({arguments.to.stat().st_size / 1e6:.0f} MB,"
        f" {time.time() - begun:.0f} s), for {' '.join(system())},"
        f" {f'path {arguments.path}' if arguments.path else 'all lessons'}, without more/solutions."
        " ROOM.md in it says how to use it."
    )
    return 0


def pack_solutions(commit, to):
    """The part that a pack leaves out, to unpack over its folder when the instructor decides."""
    with working_folder() as folder:
        extract(commit, folder, f":(glob){SOLUTIONS}")
        archive(to, [(folder, TOP)])
    print(
        f"written: {to} ({to.stat().st_size / 1e6:.1f} MB). To release the solutions, unpack it"
        f" where the pack was unpacked: tar -xf {to.name}"
    )
    return 0
