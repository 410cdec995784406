"""PTX, registers and spills of every kernel of a tree, from nvcc, cached by the compiled text."""
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import ptx
from sources import Tree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))  # so that importers of this module find the learner's loop
ARCHITECTURE = "sm_90a"
# The flags of the real build (cmake/Options.cmake, cmake/Cuda.cmake).
FLAGS = ("-std=c++20", "-O3", "--default-stream=per-thread", "-I.")
# Hashes depend on the normalisation, so each version has its own cache entries.
_NORMALISATION = ptx.short_hash(Path(ptx.__file__).read_text(encoding="utf-8"))


class ToolError(Exception):
    """An error that the user can fix; the message explains it."""


def find_tool(name):
    home = os.environ.get("CUDA_HOME")
    return shutil.which(name, path=":".join([*([f"{home}/bin"] if home else []), os.environ.get("PATH", ""), "/usr/local/cuda/bin"]))


def nvcc_version():
    """The release and the whole version, ("13.0", "V13.0.88"); (None, None) without nvcc."""
    nvcc = find_tool("nvcc")
    if nvcc is None:
        return None, None
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"release (\d+\.\d+), (V[\d.]+)", text)
    return found.group(1), found.group(2)


def cache_folder():
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernel-ladder" / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(f"{folder} cannot be made ({error.strerror}); XDG_CACHE_HOME may name another place") from None
    return folder


def _write(path, data):
    """Writes a file atomically, because two runs may write the same one."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)


def _run(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"{' '.join(map(str, command[:1] + command[-3:]))} failed:\n{(done.stderr or done.stdout)[-2000:]}")
    return done.stdout + done.stderr


def git(*arguments, root=ROOT):
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def files_here(root=ROOT):
    """The files of the working tree, also in a copy without its repository."""
    try:
        return git("ls-files", "--cached", "--others", "--exclude-standard", root=root).splitlines()
    except (ToolError, OSError):
        paths = []
        for folder, folders, files in os.walk(root):
            inside = os.path.relpath(folder, root)
            if inside == ".":
                folders[:] = [each for each in folders if not re.fullmatch(r"build.*|out|my|shared|\..*|__pycache__", each)]
            paths += [os.path.normpath(os.path.join(inside, file)) for file in files]
        return paths


def commit_here():
    """HEAD's short name, with -dirty if the working tree differs; "unknown" without a
    repository."""
    try:
        dirty = git("status", "--porcelain", "--untracked-files=no").strip()
        return git("rev-parse", "--short", "HEAD").strip() + ("-dirty" if dirty else "")
    except (ToolError, OSError):
        return "unknown"


@contextmanager
def tree_of(revision, root=ROOT):
    """A revision's sources, unpacked into a temporary folder; "." is the working tree itself."""
    if revision == ".":
        yield Tree(root, [path for path in files_here(root) if (Path(root) / path).is_file()])
        return
    try:
        commit = git("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}", root=root).strip()
    except ToolError:
        raise ToolError(f"{revision!r} is no commit of this repository") from None
    with tempfile.TemporaryDirectory(prefix="kernels-") as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=root, stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        yield Tree(folder, git("ls-tree", "-r", "--name-only", commit, root=root).splitlines())


class Compiler:
    """Compiles for one architecture and caches every result by compiler, flags and sources."""

    def __init__(self, say=lambda line: None):
        self.architecture = ARCHITECTURE
        self.release, self.version = nvcc_version()
        if self.release is None:
            raise ToolError("no nvcc is found; PATH or CUDA_HOME may name one")
        self.cache = cache_folder()
        self.say = say

    def _ptx_path(self, tree, source):
        key = ptx.short_hash("\n".join([self.version, self.architecture, *FLAGS, source, tree.closure_hash(source)]))
        return self.cache / f"{key}.ptx.gz"

    def text(self, tree, source):
        """The PTX of one source."""
        path = self._ptx_path(tree, source)
        if path.exists():
            return gzip.decompress(path.read_bytes()).decode()
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.ptx"
            _run([find_tool("nvcc"), *FLAGS, f"-arch={self.architecture}", "-ptx", "-o", str(out), source], tree.root)
            text = out.read_text()
        _write(path, gzip.compress(text.encode(), 3))
        self.say(f"{source}: compiled")
        return text

    def kernels(self, tree, source):
        """The kernels of one source; a .cpp file has none."""
        if not source.endswith(".cu"):
            return []
        path = self._ptx_path(tree, source)
        path = path.with_name(f"{path.name}.{_NORMALISATION}.json")
        if not path.exists():
            kernels = [{"name": kernel.name, "hash": kernel.hash} for kernel in ptx.kernels(self.text(tree, source))]
            _write(path, json.dumps(kernels).encode())
        return [ptx.Kernel(**kernel) for kernel in json.loads(path.read_text())]

    def kernels_of(self, tree, sources):
        """{source: its kernels}, compiled in parallel, the longest source first."""
        ordered = sorted(sources, key=lambda source: -sum(len(tree.text(each)) for each in tree.closure(source)))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(ordered, pool.map(lambda source: self.kernels(tree, source), ordered)))

    def _resources_path(self, kernel_hash):
        return self.cache / f"{ptx.short_hash('resources' + self.version + self.architecture + kernel_hash)}.json"

    def resources(self, tree, kernels):
        """{hash: registers, spills and the hash of the machine code} for every kernel of `kernels`
        (source -> kernels), from ptxas. Equal kernels are assembled once."""
        wanted, work = set(), []
        for source, its in kernels.items():
            names = []
            for kernel in its:
                if kernel.hash not in wanted and not self._resources_path(kernel.hash).exists():
                    wanted.add(kernel.hash)
                    names.append(kernel)
            # In groups, so that one long source does not leave processors idle.
            work += [(source, names[at:at + 8]) for at in range(0, len(names), 8)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda item: self._assemble(tree, *item), work))
        return {kernel.hash: json.loads(self._resources_path(kernel.hash).read_text())
                for its in kernels.values() for kernel in its}

    def _assemble(self, tree, source, kernels):
        text = self.text(tree, source)
        with tempfile.TemporaryDirectory() as folder:
            file, assembled = Path(folder) / "in.ptx", Path(folder) / "out.cubin"
            file.write_text(text)
            told = _run([find_tool("ptxas"), f"-arch={self.architecture}", "-O3", "-v", "-o", str(assembled),
                         "--entry", ",".join(kernel.name for kernel in kernels), str(file)], folder)
            codes = codes_in(_run(["readelf", "-SW", str(assembled)], folder), assembled.read_bytes())
        found = resources_told(told)
        called = [codes[name] for name in sorted(codes.keys() - {kernel.name for kernel in kernels})]
        # functions that are not inlined are attributed to a kernel only if it is alone
        if called and len(kernels) > 1:
            for kernel in kernels:
                self._assemble(tree, source, [kernel])
            return
        for kernel in kernels:
            if kernel.name not in found or kernel.name not in codes:
                raise ToolError(f"ptxas said nothing about {kernel.name} of {source}")
            code = ptx.hash_of_hashes([codes[kernel.name], *called])
            _write(self._resources_path(kernel.hash), json.dumps({**found[kernel.name], "code": code}).encode())
        self.say(f"{source}: registers of {len(kernels)} kernels")


def resources_told(text):
    """{mangled name: registers, spill_stores, spill_loads and stack in bytes}, from `ptxas -v`."""
    result, name = {}, None
    for line in text.splitlines():
        if found := re.search(r"Compiling entry function '([^']+)'", line):
            name = found.group(1)
            result[name] = {"registers": None, "spill_stores": 0, "spill_loads": 0, "stack": 0}
        elif found := re.search(r"Function properties for (\S+)", line):
            name = found.group(1)
        elif name not in result:
            continue
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            result[name].update(stack=int(found.group(1)), spill_stores=int(found.group(2)), spill_loads=int(found.group(3)))
        elif found := re.search(r"Used (\d+) registers", line):
            result[name]["registers"] = int(found.group(1))
    return {name: its for name, its in result.items() if its["registers"] is not None}


def codes_in(sections, assembled):
    """{mangled name: hash of its instructions}, which contain no names. `sections`: the output of
    `readelf -SW`."""
    found = {}
    for name, at, size in re.findall(r"^ *\[ *\d+\] \.text\.(\S+) +PROGBITS +\S+ (\w+) (\w+)", sections, re.MULTILINE):
        found[name] = hashlib.sha256(assembled[int(at, 16):int(at, 16) + int(size, 16)]).hexdigest()[:16]
    return found


def demangled(names):
    """{mangled: readable}, without the hashes of anonymous namespaces."""
    names = list(dict.fromkeys(names))
    tool = shutil.which("c++filt") or find_tool("cu++filt")
    plain = [ptx.without_build_hashes(name) for name in names]
    if not names or tool is None:
        return dict(zip(names, plain))
    done = subprocess.run([tool], input="\n".join(plain) + "\n", capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.splitlines()))


def say_to_stderr(line):
    print(line, file=sys.stderr, flush=True)
