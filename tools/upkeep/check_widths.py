#!/usr/bin/env python3
"""Finds products of 32 bits that become an offset of 64, in kernels: right for every size that a test has, wrong beyond 2^31 elements."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nvcc import ROOT

CHECKS = "-*,bugprone-implicit-widening-of-multiplication-result,clang-diagnostic-shorten-64-to-32"
HEADERS = ("cuda_runtime.h", "common/core/lists.hpp", "common/core/registry.hpp", "common/cuda/check.hpp", "common/cuda/shared_memory.hpp")
FLAGS = ("-std=c++20", "-DNDEBUG", "-Wno-unknown-pragmas", "-Wshorten-64-to-32", f"-I{ROOT}", f"-I{ROOT}/common/emulator/include")
_SAID = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?P<kind>warning|error|note): (?P<words>.*)$")
# A factor that is a constant of the kernel, a thread's place in its warp or block, or a head (at most 65,535 in a grid): no size of an array.
_SMALL = re.compile(r"(\d+u?|(\w+::)*k[A-Z]\w*|sizeof\b.*|lane|warp|threadIdx\.x|(kv_)?head|\([^()]* \? \d+ : \d+\))")
_BRACKETS = r"\((?:[^()]|\([^()]*\))*\)"
_FACTOR = rf"(?:{_BRACKETS}|[\w.:]+(?:{_BRACKETS})?)"
_POINTER = re.compile(r"(args|forward|backward)\.\w+")


def factors_at(text):
    """Of the product that begins here."""
    found = re.match(rf"\(?({_FACTOR}(?: [*/%] {_FACTOR})+)", text)
    return re.split(r" [*/%] ", found.group(1)) if found else []


def fault(words, code, note):
    """A sentence, or None: `code` begins where the compiler points, `note` where the product begins."""
    if "loses integer precision" in words:  # it points to the operator
        return "a number of 64 bits is cut to 32 behind this operator" if code[:2] in ("* ", "+ ") else None
    factors = factors_at(note)
    if "pointer offset" in words:  # a constant times what counts an array's rows is as wrong as a size times it
        small = any(re.fullmatch(r"lane|warp|threadIdx\.x", each) for each in factors)
        return "this product has 32 bits, and is the offset of an array of any size" if _POINTER.match(code) and not small else None
    if "implicit widening conversion" in words and not any(map(_SMALL.fullmatch, factors)):
        return "this product has 32 bits, and is used as a number of 64"
    return None


def faults_in(source, folder, flags=()):
    """{(file, line): sentence} of one source; `folder`: where the lesson's own headers lie."""
    done = subprocess.run(["clang-tidy", "--quiet", f"--checks={CHECKS}", "--header-filter=.*", source, "--", *FLAGS, *flags, f"-I{folder}"],
                          capture_output=True, text=True)
    lines, found = {}, {}

    def rest(match):
        path = match["file"]
        if path not in lines:
            lines[path] = Path(path).read_text(errors="replace").splitlines()
        return lines[path][int(match["line"]) - 1][int(match["column"]) - 1:]

    said = [match for match in map(_SAID.match, done.stdout.splitlines()) if match]
    for match in said:
        if match["kind"] == "error":
            raise SystemExit(f"check_widths: clang-tidy does not understand {source}:\n{done.stdout[:2000]}")
    for at, match in enumerate(said):
        if match["kind"] != "warning":
            continue
        note = next((each for each in said[at + 1:at + 2] if each["kind"] == "note"), match)
        sentence = fault(match["words"], rest(match), rest(note))
        if sentence:
            found[match["file"], int(match["line"])] = f"{sentence}: {lines[match['file']][int(match['line']) - 1].strip()}"
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/check_widths.py", description="Asks clang-tidy for each kernel, as the emulator's build has "
                                     "rewritten it: is a product of 32 bits used as an offset of 64, or an offset of 64 kept in 32?")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="FOLDER", help="default: build")
    options = parser.parse_args(arguments)
    rewritten = options.build.resolve() / "emulated"
    sources = sorted(path for path in rewritten.glob("[0-9b]*/**/*.cu.cpp") if not re.search(r"(exercise|scratch)(_sm90)?\.cu\.cpp$", path.name))
    sources = [path for path in sources if (ROOT / path.relative_to(rewritten)).with_suffix("").exists()]
    if len(sources) < 10:
        raise SystemExit(f"check_widths: {rewritten} holds {len(sources)} kernels; ./ladder test builds them")
    with tempfile.TemporaryDirectory() as place:
        header, parsed = Path(place) / "headers.hpp", Path(place) / "headers.pch"
        header.write_text("".join(f'#include "{each}"\n' for each in HEADERS))
        subprocess.run(["clang++", *FLAGS, "-x", "c++-header", header, "-o", parsed], check=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            each_ones = pool.map(lambda source: faults_in(source, ROOT / source.relative_to(rewritten).parent, ("-include-pch", parsed)), sources)
            found = {}
            for faults in each_ones:
                found.update(faults)
    for (file, line), sentence in sorted(found.items()):
        path = Path(file)
        if path.is_relative_to(rewritten):  # its first line says where it comes from
            path, line = path.relative_to(rewritten).with_suffix(""), line - 1
        elif path.is_relative_to(ROOT):
            path = path.relative_to(ROOT)
        print(f"{path}:{line}: {sentence}")
    print(f"{len(sources)} kernels, {len(found)} products that may be widened too late")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
