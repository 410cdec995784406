"""Finds what nvcc rejects but the emulator accepts, where a kernel is an ordinary function. Uses
clang's CUDA front end, which needs no toolkit, or nvcc."""
import re
import shutil
import subprocess

from ladder_tools.place import ROOT

_MESSAGE = re.compile(r"^(?P<file>[^\s:(]+)[:(](?P<line>\d+)(?::\d+|\)): (?P<kind>error|warning|note): (?P<text>.*)$", re.MULTILINE)
# Only these of clang's errors count, because clang rejects some declarations of shared memory that
# nvcc accepts.
_RULES = re.compile(r"reference to __host__|variable-length arrays|must have void return type|cannot use '(?:throw|try|typeid|dynamic_cast)'|"
                    r"kernel call to non-global function|not configured|indirect goto|virtual functions")
_SIDES = re.compile(r"call to (__\w+__) function from (__\w+__)")
_CALLED = re.compile(r"no matching (?:function for call to|constructor for initialization of|member function for call to) '([^']+)'|"
                     r"no viable overloaded (operator\S+) for type")
_DELETED = re.compile(r"call to deleted function '(min|max)'")
_OF_TYPES = re.compile(r"\[with A = (.*), B = (.*)\] has been explicitly deleted")


def clang():
    """The newest clang++ of this machine, or None."""
    return next(filter(None, map(shutil.which, ("clang++", *(f"clang++-{version}" for version in range(25, 13, -1))))), None)


def nvcc():
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def _command(compiler, path, folder):
    resources = subprocess.run([compiler, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    return [compiler, "-x", "cuda", "-std=c++20", "-fsyntax-only", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib",
            # its <algorithm> would provide std::max for devices
            "-nobuiltininc", "-isystem", f"{resources}/include",
            "-Xclang", "-target-sdk-version=11.0", "-Xclang", "-fno-cuda-host-device-constexpr", "-Wno-unknown-cuda-version", "-Wdouble-promotion",
            "-ferror-limit=0", f"-I{folder}", f"-I{ROOT}", f"-I{ROOT}/common/emulator/include", "-include", f"{ROOT}/tools/ladder_tools/nvcc_rules.hpp", str(path)]


def _said(found):
    """A sentence about the call that one of clang's errors and its notes describe; "" for other
    errors."""
    message, notes = found[0], found[1:]
    called, sides = _CALLED.search(message["text"]), next(filter(None, (_SIDES.search(note["text"]) for note in notes)), None)
    if called and called[1] in ("move", "forward") and notes[0]["file"].endswith("bits/move.h"):
        return ""  # nvcc accepts these two
    if called and sides and sides[1] != sides[2]:
        mend = "; it needs __device__" if sides[1] == "__host__" and notes[0]["file"] == message["file"] else ""
        return f"{called[1] or called[2]} is a {sides[1]} function called from a {sides[2]} function{mend}"
    deleted = _DELETED.search(message["text"])
    types = next(filter(None, (_OF_TYPES.search(note["text"]) for note in notes)), None)
    if deleted and types:
        return (f"CUDA has no {deleted[1]} of {types[1]} and {types[2]}; "
                "convert one to the type of the other")
    return message["text"] if _RULES.search(message["text"]) else ""


def asked(path, folder):
    """({line: why nvcc rejects it}, [lines that compute in double]) for the .cu file at `path`,
    with headers from `folder` too. None without either compiler. nvcc does not report doubles."""
    compiler = clang()
    if compiler:
        command = _command(compiler, path, folder)
    elif nvcc():
        command = [nvcc(), "-std=c++20", "-arch=sm_90a", "-ptx", "-o", "/dev/null", f"-I{folder}", f"-I{ROOT}", str(path)]
    else:
        return None
    text = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stderr
    found = list(_MESSAGE.finditer(text))
    starts = [at for at, each in enumerate(found) if each["kind"] != "note"] + [len(found)]
    refused, doubles = {}, []
    for begin, end in zip(starts, starts[1:]):
        message = found[begin]
        if message["file"] != str(path):
            continue
        if message["kind"] == "warning":
            doubles += [int(message["line"])] if "-Wdouble-promotion" in message["text"] else []
        elif sentence := _said(found[begin:end]) if compiler else message["text"]:
            refused.setdefault(int(message["line"]), sentence)
    return refused, list(dict.fromkeys(doubles))
