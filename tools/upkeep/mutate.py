#!/usr/bin/env python3
"""Plants mutants, builds and runs the tests that can see them, and lists the survivors."""
import argparse
import collections
import hashlib
import json
import os
import platform
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import nvcc
from mutants import KINDS, drawn, mutants_of
from nvcc import ToolError
from sources import Tree, is_host_source, is_kernel_source
from ladder_tools.place import MORE

ROOMS = ("00", "01", "02", "03", "04", "05", "06", "07", "08", "library/best")
COMPILE_SECONDS = 900
# The time limit of a mutant's tests, relative to their time without it. It ends endless loops but
# not slow machines.
PATIENCE = 6


# The folders of tools/ that CMake builds.
BUILT_TOOLS = tuple(f"{folder}/" for folder in re.findall(r"add_subdirectory\((tools/[\w/]+)\)",
                                                          (nvcc.ROOT / "CMakeLists.txt").read_text(encoding="utf-8")))


def needed(path):
    """Whether a build uses the file. Other files may change during a run."""
    # The tests of best read these records and call fit.py, which imports a tool of the loop.
    if path in ("records/best_h200.json", "library/best/fit.py") or re.match(r"tools/ladder_tools/\w+\.py$", path):
        return True
    return not (path.startswith(("docs/", "records/", ".ci/")) or path.endswith((".md", ".py", ".svg", ".png"))
                or (path.startswith("tools/") and not path.startswith(BUILT_TOOLS)))


def is_mutable_source(path):
    """Whether it is a kernel's source, for a GPU or a CPU, or one that chooses among kernels."""
    return is_kernel_source(path) or (is_host_source(path) and re.match(r"(\d\d_|library/best/)", path) is not None
                                      and not path.endswith(("_operator.cpp", "_reference.cpp", "_suite.cpp")))


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def identity(mutant, source):
    """A hash that is the same in every tree with the same line and change."""
    lines = source.split("\n")
    line = mutant.line(source)
    text = lines[line - 1].strip()
    nth = sum(each.strip() == text for each in lines[:line])
    column = mutant.start - (source.rfind("\n", 0, mutant.start) + 1)
    key = "\n".join([mutant.file, mutant.kind, text, str(nth), str(column - (len(lines[line - 1]) - len(lines[line - 1].lstrip()))),
                     source[mutant.start:mutant.end], mutant.text])
    return hashlib.sha256(key.encode()).hexdigest()[:12]


def limited(command, seconds, cwd, cpu_seconds=None, env=None):
    """Runs a command in its own session. Returns (exit status, or None after the time limit;
    output)."""
    def prepare():
        os.setsid()
        if cpu_seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 5))

    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               preexec_fn=prepare, env=env)
    try:
        output, _ = process.communicate(timeout=seconds)
        status = process.returncode
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            status = None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = None
    return status, output.decode(errors="replace")


class DoesNotCompile(Exception):
    """A mutant does not compile; the message is the compiler's."""


@dataclass
class Program:
    """A test program of a lesson or of a chapter's own folder: its objects and link command, and
    the times of its tests."""
    target: str
    objects: dict  # {source in the tree: (object in the build folder, compile command as a list)}
    link: str
    tests: dict = field(default_factory=dict)  # {full name: seconds without a mutant}
    red: list = field(default_factory=list)  # tests that fail without a mutant


class Workshop:
    """A snapshot of the sources in OUT/tree, built once in OUT/build. Each job compiles its mutant
    in OUT/jobs/N."""

    def __init__(self, out, gpu, jobs):
        self.out, self.gpu, self.jobs = out.resolve(), gpu, jobs
        self.tree_folder, self.build = self.out / "tree", self.out / ("build-cuda" if gpu else "build")
        self.programs = {}  # {(folder, back end): Program}
        self._lock = threading.Lock()
        record = self._prepare_tree()
        self.tree, self.commit = Tree(self.tree_folder, record["paths"]), record["commit"]

    def _prepare_tree(self):
        """Copies the sources and returns their hash, commit and paths."""
        with nvcc.tree_of(".") as now:
            paths = sorted(path for path in now.paths if needed(path) and not (now.root / path).is_symlink())
            digest = hashlib.sha256()
            for path in paths:
                digest.update(path.encode() + b"\0" + (now.root / path).read_bytes())
            file = self.out / "tree.json"
            if file.exists():
                record = json.loads(file.read_text())
                if record["hash"] != digest.hexdigest():
                    raise ToolError(f"{self.out} holds a run on other sources; give another --out, or remove that folder")
                return record
            for path in paths:
                (self.tree_folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(now.root / path, self.tree_folder / path)
            record = {"hash": digest.hexdigest(), "commit": nvcc.commit_here(), "paths": paths}
            file.write_text(json.dumps(record))
            return record

    def configure(self):
        if (self.build / "build.ninja").exists():
            return
        say(f"configuring {self.build}")
        status, told = limited(["cmake", "-S", str(self.tree_folder), "-B", str(self.build), "-G", "Ninja",
                                "-DCMAKE_BUILD_TYPE=Release", f"-DLADDER_CUDA={'ON' if self.gpu else 'OFF'}"], 600, self.out)
        if status != 0:
            raise ToolError(f"cmake could not configure:\n{told[-3000:]}")

    def back_ends(self, chapter):
        """The back ends whose tests run, in this order, until one notices a mutant."""
        if self.gpu:
            return ["cuda"]
        if any(path.startswith(chapter) and path.endswith(".cu") for path in self.tree.kernel_sources):
            return ["cpu", "emulated"] if chapter == "library/best" else ["emulated", "xray"]
        return ["cpu"]

    def program(self, folder, back_end):
        """Builds the program and measures its tests once."""
        with self._lock:
            key = (folder, back_end)
            if key not in self.programs:
                self.programs[key] = self._built(folder, back_end)
            return self.programs[key]

    def _built(self, folder, back_end):
        target = target_of(folder, back_end)
        say(f"building {target}")
        status, told = limited(["ninja", "-C", str(self.build), "-j", str(self.jobs), target], 7200, self.out)
        if status != 0:
            raise ToolError(f"{target} does not build:\n{told[-3000:]}")
        _, commands = limited(["ninja", "-C", str(self.build), "-t", "commands", target], 60, self.out)
        link = next(line for line in reversed(commands.splitlines()) if f"-o {target} " in line)
        objects = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            command = shlex.split(entry["command"])
            object_ = command[command.index("-o") + 1]
            library = re.search(r"([\w.]+)\.dir/", object_).group(1)
            if f" {object_} " not in link and f"lib{library}.a" not in link:
                continue
            source = os.path.relpath(entry["file"], self.build / "emulated")
            if source.startswith(".."):
                source = os.path.relpath(entry["file"], self.tree_folder)
            else:
                source = source.removesuffix(".cpp")
            objects[source] = (object_, command)
        program = Program(target, objects, link)
        record = self.out / f"tests_{Path(target).name}.json"
        if not record.exists():
            say(f"running {target} without a mutant")
            record.write_text(json.dumps(self._measured(target)))
        program.tests = json.loads(record.read_text())
        program.red = sorted(name for name, seconds in program.tests.items() if seconds is None)
        if program.red:
            say(f"{len(program.red)} tests of {target} fail without a mutant and are left out: {', '.join(program.red[:5])}")
        program.tests = {name: seconds for name, seconds in program.tests.items() if seconds is not None}
        return program

    def _measured(self, target):
        """{test: seconds, or None if it fails without a mutant}, without skipped tests."""
        shards, running = max(1, self.jobs), []
        for shard in range(shards):
            file = self.out / f"shard_{Path(target).name}_{shard}.json"
            file.unlink(missing_ok=True)
            environment = dict(os.environ, GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(shard))
            running.append((file, subprocess.Popen([str(self.build / target), f"--gtest_output=json:{file}"], cwd=self.build,
                                                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
        tests = {}
        for file, process in running:
            if process.wait() not in (0, 1) or not file.exists():
                raise ToolError(f"{target} ended with {process.returncode} without a mutant")
            for suite in json.loads(file.read_text())["testsuites"]:
                for test in suite["testsuite"]:
                    if test.get("result") == "COMPLETED":
                        tests[f"{suite['name']}.{test['name']}"] = None if test.get("failures") else float(test["time"][:-1])
            file.unlink()
        return tests

    def affected(self, source, folder, back_end):
        """The tests of this folder's program that can see a change in a kernel's source."""
        suites = suites_that_see(self.tree, source, folder, back_end)
        return {name: seconds for name, seconds in self.program(folder, back_end).tests.items() if re.split("[./]", name)[0] in suites}


class Job:
    """Judges one mutant at a time, in its own copy of the sources."""

    def __init__(self, shop, number):
        self.shop = shop
        self.folder = shop.out / "jobs" / str(number)
        self.tree = self.folder / "tree"
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(shop.tree_folder, self.tree)

    def _compile(self, program, source, out):
        """Compiles one source of this job's copy like the build does."""
        object_, command = program.objects[source]
        new = [word.replace(str(self.shop.tree_folder), str(self.tree)) for word in command]
        if Path(new[0]).name == "ccache":
            new = new[1:]
        new[new.index("-o") + 1] = str(out)
        if source.endswith(".cu") and not self.shop.gpu:
            rewritten = out.with_suffix(".cpp")
            status, told = limited([str(self.shop.build / "common/emulator/emulator_rewrite"), str(self.tree / source),
                                    str(rewritten)], 60, self.folder)
            if status != 0:
                raise DoesNotCompile(told or "the rewriter took too long")
            new[new.index("-c") + 1] = str(rewritten)
        # The same mutant must give the same object in any folder, so paths are removed.
        new.insert(1, f"-ffile-prefix-map={self.tree}=." if not self.shop.gpu else "-DMUTANT")
        status, told = limited(["nice", *new], COMPILE_SECONDS, self.shop.build)
        if status != 0:
            raise DoesNotCompile(told or "the compiler took too long")

    def _pristine(self, program, source, mutant):
        """The same source's object without the mutant, compiled in the same way once for all
        jobs."""
        kept = self.shop.out / "objects" / f"{Path(program.target).name}_{source.replace('/', '_')}.o"
        with _ONE_AT_A_TIME:
            if not kept.exists():
                kept.parent.mkdir(exist_ok=True)
                changed, out = self.tree / mutant.file, self.folder / "pristine.o"
                text = changed.read_text()
                shutil.copy2(self.shop.tree_folder / mutant.file, changed)
                try:
                    self._compile(program, source, out)
                except DoesNotCompile as problem:
                    raise ToolError(f"{source} does not compile without a mutant: {str(problem)[-2000:]}") from None
                os.replace(out, kept)
                changed.write_text(text)
        return kept

    def _link(self, program, replaced, out):
        command = program.link.replace(f"-o {program.target} ", f"-o {out} ")
        for source, new in replaced.items():
            old = f" {program.objects[source][0]} "
            # An archive's object is replaced only if no object file stands for it.
            command = command.replace(old, f" {new} ") if old in command else command.replace(f" -o {out} ", f" {new} -o {out} ")
        status, told = limited(["bash", "-c", command], 300, self.shop.build)
        if status != 0:
            raise DoesNotCompile(told or "the linker took too long")

    def _run(self, binary, tests, result):
        """Runs the tests, short ones first, in growing groups. Whether they killed the mutant."""
        ordered = sorted(tests, key=tests.get)
        part_seconds, at = 1.0, 0
        while at < len(ordered):
            part, expected = [], 0.0
            while at < len(ordered) and (not part or expected + tests[ordered[at]] <= part_seconds):
                expected += tests[ordered[at]]
                part.append(ordered[at])
                at += 1
            part_seconds *= 3
            flags = self.folder / "filter.txt"
            flags.write_text("--gtest_filter=" + ":".join(part) + "\n--gtest_fail_fast\n--gtest_brief=1\n")
            cpu = 20 + PATIENCE * expected * os.cpu_count()
            status, told = limited(["nice", str(binary), f"--gtest_flagfile={flags}"], 60 + 10 * PATIENCE * expected, self.folder,
                                   cpu)
            failed = re.findall(r"^\[  FAILED  \] ([\w./]+)", told, re.MULTILINE)
            if status == 0:
                result["tests_run"] = result.get("tests_run", 0) + len(part)
                continue
            result["status"] = "killed"
            if status is None:
                result["killed_by"] = f"time: one of {len(part)} tests, {part[0]} the first"
            elif status < 0:
                running = re.findall(r"^\[ RUN      \] ([\w./]+)", told, re.MULTILINE)
                result["killed_by"] = f"crash ({signal.Signals(-status).name}): {(failed or running or part)[-1]}"
            else:
                result["killed_by"] = failed[0] if failed else f"exit {status}: one of {len(part)} tests, {part[0]} the first"
            return True
        return False

    def _against_all(self, back_end, chapter, mutant, result):
        """Runs the test programs that can see the mutant until one notices it."""
        tree, outcomes = self.shop.tree, set()
        sources = [each for each in tree.paths if is_mutable_source(each) and mutant.file in tree.closure(each)]
        folders = [folder for folder in test_folders(tree, chapter, back_end)
                   if any(suites_that_see(tree, source, folder, back_end) for source in sources)]
        if not folders:
            result.setdefault("without_tests", []).append(f"{mutant.file} ({back_end})")
        for folder in folders:
            try:
                self._against(self.shop.program(folder, back_end), back_end, folder, mutant, result)
            except DoesNotCompile as problem:
                result.update(status="does not compile", message=str(problem)[-600:])
            outcomes.add(result["status"])
            if result["status"] not in ("survived", "same object code"):
                return
        result["status"] = "same object code" if outcomes == {"same object code"} else "survived"

    def _differs(self, program, source, mutant, out):
        return self.shop.gpu or out.read_bytes() != self._pristine(program, source, mutant).read_bytes()

    def _against(self, program, back_end, folder, mutant, result):
        """Builds and runs one test program with the mutant, after each changed source, the short
        ones first."""
        users = [source for source in program.objects if mutant.file in self.shop.tree.closure(source)]
        kernels = sorted((each for each in users if is_mutable_source(each)),
                         key=lambda source: sum(len(self.shop.tree.text(each)) for each in self.shop.tree.closure(source)))
        replaced, changed, ran = {}, False, False
        # tests that include a changed header
        for source in [each for each in users if not is_mutable_source(each)]:
            replaced[source] = self.folder / (source.replace("/", "_") + ".o")
            self._compile(program, source, replaced[source])
            changed = changed or self._differs(program, source, mutant, replaced[source])
        binary = self.folder / Path(program.target).name
        for source in kernels:
            out = self.folder / (source.replace("/", "_") + ".o")
            began = time.monotonic()
            self._compile(program, source, out)
            result["compile_seconds"] = round(result.get("compile_seconds", 0) + time.monotonic() - began, 1)
            if not self._differs(program, source, mutant, out):
                continue  # the compiled code is the same
            ran = True
            self._link(program, {**replaced, source: out}, binary)
            tests = self.shop.affected(source, folder, back_end)
            if not tests:
                result.setdefault("without_tests", []).append(f"{source} ({back_end})")
            if self._run(binary, tests, result):
                return
        if changed and not ran:  # only the tests instantiate it: a template
            self._link(program, replaced, binary)
            if self._run(binary, program.tests, result):
                return
        result["status"] = "survived" if changed or ran else "same object code"

    def judge(self, chapter, mutant):
        source = self.shop.tree.text(mutant.file)
        result = {"id": identity(mutant, source), "chapter": chapter, "file": mutant.file, "line": mutant.line(source),
                  "kind": mutant.kind, "where": mutant.where, "diff": mutant.diff(source)}
        began = time.monotonic()
        path = self.tree / mutant.file
        path.write_text(mutant.apply(source))
        try:
            outcomes = set()
            for back_end in self.shop.back_ends(chapter):
                self._against_all(back_end, chapter, mutant, result)
                outcomes.add(result["status"])
                if result["status"] not in ("survived", "same object code"):
                    break
            else:
                result["status"] = "survived" if "survived" in outcomes else "same object code"
        finally:
            path.write_text(source)
        result["seconds"] = round(time.monotonic() - began, 1)
        return result


_ONE_AT_A_TIME = threading.Lock()


def drawn_queues(shop, seed, chapters, wanted=""):
    """{chapter: its mutants in the seed's order}"""
    queues = {}
    for chapter in chapters:
        sources = mutable_sources(shop.tree, chapter, shop.gpu, wanted)
        queues[chapter] = drawn(sources, f"{seed}/{chapter}") if sources else []
    return queues


def queues_of(shop, wanted):
    """{chapter: its mutants that these results are about, at their present lines}"""
    queues, found = {}, set()
    for chapter in sorted({each["chapter"] for each in wanted.values()}):
        sources = mutable_sources(shop.tree, chapter, shop.gpu)
        named = {identity(mutant, text): mutant for file, text in sources.items() for mutant in mutants_of(file, text)}
        queues[chapter] = [mutant for each, mutant in named.items() if each in wanted]
        found |= named.keys()
    for each, result in wanted.items():
        if each not in found:
            say(f"{result['file']}:{result['line']} ({each}) has changed: not tried again")
    return queues


class Run:
    """Takes mutants from each chapter's queue until enough of them compile. `known`: results of an
    earlier run, by mutant."""

    def __init__(self, queues, quotas, known):
        self.queues, self.quotas, self.known, self.lock = queues, quotas, known, threading.Lock()
        self.counted, self.waiting, self.results = collections.Counter(), collections.Counter(), []

    @staticmethod
    def counts(result):
        return result["status"] in ("killed", "survived")

    def next(self, shop):
        """(chapter, mutant), "wait" if running mutants decide whether more are needed, or None at
        the end."""
        with self.lock:
            wait = False
            for chapter in sorted(self.quotas, key=lambda c: self.counted[c] - self.quotas[c]):
                while self.queues[chapter] and self.counted[chapter] + self.waiting[chapter] < self.quotas[chapter]:
                    mutant = self.queues[chapter].pop(0)
                    known = self.known.get(identity(mutant, shop.tree.text(mutant.file)))
                    if known:
                        self._record(known)
                        continue
                    self.waiting[chapter] += 1
                    return chapter, mutant
                wait = wait or self.waiting[chapter] > 0
            return "wait" if wait else None

    def _record(self, result):
        self.results.append(result)
        self.counted[result["chapter"]] += self.counts(result)

    def done(self, result):
        with self.lock:
            self.waiting[result["chapter"]] -= 1
            self._record(result)


def target_of(folder, back_end):
    """chapter07.02_chunk_walk_emulated_tests for 07_chunkwise/02_chunk_walk"""
    if folder == "library/best":
        return "library/best/best_tests" if back_end == "cpu" else f"library/best/best_{back_end}_tests"
    chapter, *lesson = folder.split("/")
    return ".".join([f"chapter{chapter[:2]}", *lesson]) + f"_{back_end}_tests"


def test_sources(tree, folder, back_end):
    """The sources of a folder's test program."""
    if folder == "library/best":  # test.cpp calls kernels; the others test only rules
        return sorted(path for path in tree.paths if re.fullmatch("library/best/.*test.cpp", path)
                      and path.endswith("/test.cpp") == (back_end != "cpu") and back_end != "xray")
    return sorted(path for path in tree.paths if re.fullmatch(rf"{folder}/({MORE}/)?([^/]*_)?test\.cpp", path)
                  and path.endswith("xray_test.cpp") == (back_end == "xray"))


def test_folders(tree, chapter, back_end):
    """The folders of a chapter, its own and its lessons', with a test program."""
    folders = {path.rpartition("/")[0].removesuffix(f"/{MORE}") for path in tree.paths if re.match(rf"{chapter}(_[^/]*)?/", path)}
    return sorted(folder for folder in folders if test_sources(tree, folder, back_end))


def suites_that_see(tree, source, folder, back_end):
    """The suites in a folder's tests that can see a change in a kernel's source."""
    implementations = {name for name, each in tree.registered().items() if source in tree.reached(each)}
    implementations |= set(re.findall(r'\.name = "(\w+)"', tree.code(source)))  # also for the CPU
    suites = set()
    for path in test_sources(tree, folder, back_end):
        code = tree.code(path)
        idea = re.sub(r"_?(xray_)?test\.cpp$", "", path.rsplit("/", 1)[-1]) or "kernel"
        # In a lesson's folder, or best's, all tests are about its kernel. In a chapter's folder,
        # test.cpp is, and X_test.cpp is about X.cu.
        own = Path(source).parent.as_posix() == folder and ("/" in folder or folder == "library/best" or Path(source).stem == idea)
        named = implementations & set(re.findall(r'"(\w+)"', code))
        suites |= named
        if own or named:
            suites |= set(re.findall(r"\b(?:KERNEL_|TYPED_)?TEST\(\s*(\w+)\s*,", code))
        if own:
            suites |= set(re.findall(r'register_\w+\(\s*"(\w+)"', code))
    return suites


def mutable_sources(tree, chapter, gpu, wanted=""):
    """{file: text} of the kernels of one chapter, or of best, and of their headers with code. On a
    GPU only Hopper kernels. `wanted`: a pattern."""
    files = {}
    sources = [path for path in tree.paths if is_mutable_source(path) and (path.endswith("_sm90.cu") or not gpu)]
    of_the_device = any(path.endswith(".cu") and re.match(rf"{chapter}_", path) for path in sources)
    for path in sorted(tree.paths):
        if not re.match(rf"{chapter}(_[^/]*)?/", path) or not (path.endswith(".hpp") or path in sources):
            continue
        if path.endswith(".hpp") and (gpu or (of_the_device and "__device__" not in tree.code(path))):
            continue
        if re.search(wanted, path) and any(path in tree.closure(source) for source in sources):
            files[path] = tree.text(path)
    return files


def work(shop, run, number, results_file, seed, errors):
    try:
        job = Job(shop, number)
        while not errors:
            got = run.next(shop)
            if got is None:
                return
            if got == "wait":
                time.sleep(0.5)
                continue
            result = job.judge(*got)
            result["seed"] = seed
            with run.lock:
                results_file.write(json.dumps(result) + "\n")
                results_file.flush()
            run.done(result)
            say(f"{sum(run.counted.values())}/{sum(run.quotas.values())} {result['status']}: {result['kind']} at "
                f"{result['file']}:{result['line']} ({result['seconds']} s) {result.get('killed_by', '')}")
    except Exception as error:  # the main thread reports it
        errors.append(error)


def summary(results, shop, seed, options=""):
    """Markdown: the mutants, their results, and every survivor with its change."""
    counted = [each for each in results if Run.counts(each)]
    survivors = [each for each in counted if each["status"] == "survived"]
    other = collections.Counter(each["status"] for each in results if not Run.counts(each))
    lines = ["# Planted changes", "",
             f"`tools/upkeep/mutate.py{' --gpu' if shop.gpu else ''} --seed {seed}{options}` at commit {shop.commit}, "
             f"{time.strftime('%Y-%m-%d', time.gmtime())}, "
             f"{platform.machine()}, {os.cpu_count()} processors: {len(counted)} small changes that compile, each built into its "
             f"chapter's tests. {len(counted) - len(survivors)} were noticed, {len(survivors)} survived. Besides, "
             + (", ".join(f"{n} {status}" for status, n in sorted(other.items())) or "nothing was left out") + ".", ""]

    def table(title, key, names):
        lines.extend([f"| {title} | compiled | killed | survived |", "|---|---:|---:|---:|"])
        for name in names:
            its = [each for each in counted if each[key] == name]
            alive = sum(each["status"] == "survived" for each in its)
            lines.append(f"| {name} | {len(its)} | {len(its) - alive} | {alive} |")
        lines.append("")

    table("chapter", "chapter", sorted({each["chapter"] for each in counted}))
    table("kind", "kind", KINDS)
    lines += ["## Survivors", ""]
    for each in sorted(survivors, key=lambda each: (each["file"], each["line"], each["id"])):
        lines += [f"### {each['file']}:{each['line']}, {each['kind']} ({each['id']})", ""]
        if each.get("without_tests"):
            lines += ["No test was found for " + ", ".join(each["without_tests"]) + ".", ""]
        lines += ["```diff", each["diff"].rstrip("\n"), "```", ""]
    if not survivors:
        lines += ["None.", ""]
    return "\n".join(lines)


def read_results(path):
    """Each mutant's latest result, without a line that an interrupted run cut off."""
    results = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                result = json.loads(line)
                results[result["id"]] = result
            except (json.JSONDecodeError, KeyError):
                continue
    return results


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="tools/upkeep/mutate.py", description="Plants small changes in kernels, builds each into its chapter's test program, runs the "
        "tests that can see it, and prints those that no test noticed. Ends with 0 when none survived, 1 when some did.")
    parser.add_argument("--seed", type=int, default=1, help="which mutants are drawn (default: %(default)s)")
    parser.add_argument("--per-chapter", type=int, default=35, metavar="N", help="mutants that compile, of each chapter (default: 35)")
    parser.add_argument("--chapters", default=",".join(ROOMS), metavar="LIST", help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="mutants at a time (default: all processors)")
    parser.add_argument("--out", type=Path, default=nvcc.ROOT / "out/mutate", metavar="FOLDER",
                        help="an interrupted run there continues (default: out/mutate)")
    parser.add_argument("--again", type=Path, metavar="RESULTS", help="only the survivors in this results.jsonl")
    parser.add_argument("--files", default="", metavar="REGEX", help="only kernels whose path has this in it, such as _sm90")
    parser.add_argument("--gpu", action="store_true", help="only the *_sm90.cu kernels, with nvcc and on this machine's GPU")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args(arguments)
    try:
        return execute(options)
    except ToolError as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutate: interrupted; the same call continues", file=sys.stderr)
        return 2


def execute(options):
    chapters = options.chapters.split(",")
    with nvcc.tree_of(".") as tree:
        known = {re.match(r"\d\d|library/best", path).group() for path in tree.paths if is_mutable_source(path) and re.match(r"\d\d_|library/best/", path)}
        for chapter in chapters:
            if chapter not in known:
                raise ToolError(f"--chapters names {chapter!r}; allowed: {', '.join(sorted(known))}")
        quotas = dict.fromkeys(chapters, options.per_chapter)
        if options.list:
            for chapter in chapters:
                sources = mutable_sources(tree, chapter, options.gpu, options.files)
                for mutant in drawn(sources, f"{options.seed}/{chapter}")[:quotas[chapter]]:
                    print(f"# {mutant.kind} ({mutant.where}), {identity(mutant, sources[mutant.file])}")
                    print(mutant.diff(sources[mutant.file]))
            return 0
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            raise ToolError(f"{tool} is not installed")
    again = read_results(options.again) if options.again else {}
    if options.again and not again:
        raise ToolError(f"{options.again} holds no results")
    results_path = options.out / "results.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    shop = Workshop(options.out, options.gpu, options.jobs)
    shop.configure()
    if options.again:
        queues = queues_of(shop, {name: each for name, each in again.items() if each["status"] == "survived"})
        run = Run(queues, {chapter: len(queue) for chapter, queue in queues.items()}, {})
    else:
        run = Run(drawn_queues(shop, options.seed, chapters, options.files), quotas, read_results(results_path))
    # with --files few programs are needed, so each is built on demand
    for chapter in run.quotas if not options.files else ():
        back_end = next(each for each in shop.back_ends(chapter) if test_folders(shop.tree, chapter, each))
        for folder in test_folders(shop.tree, chapter, back_end):
            shop.program(folder, back_end)
    errors = []
    with open(results_path, "a", encoding="utf-8") as results_file:
        threads = [threading.Thread(target=work, args=(shop, run, number, results_file, options.seed, errors), daemon=True)
                   for number in range(options.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    told = summary(run.results, shop, options.seed, f" --files '{options.files}'" if options.files else "")
    (options.out / "mutations.md").write_text(told, encoding="utf-8")
    survivors = [each for each in run.results if each["status"] == "survived"]
    for each in survivors:
        print(f"survived: {each['kind']} at {each['file']}:{each['line']} ({each['id']})\n{each['diff']}")
    print(f"{sum(Run.counts(each) for each in run.results)} mutants compiled, {len(survivors)} survived; {results_path} and "
          f"{options.out / 'mutations.md'}")
    for chapter, quota in run.quotas.items():
        if run.counted[chapter] < quota:
            print(f"chapter {chapter} has only {run.counted[chapter]} mutants that compile, {quota} were asked for")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
