"""Splits PTX into kernels and normalises them, so that kernels with the same hash are the same
program."""
import hashlib
import re
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_LABEL = re.compile(r"^([A-Za-z_$][\w$]*)\s*:(?!:)", re.MULTILINE)  # or a call's prototype
# .shared .align 16 .b8 NAME[64], perhaps with several vector or state-space words before the name.
_VARIABLE = re.compile(r"\.(?:shared|local|global|const|param)\b[^;{}(),\[=]*?([A-Za-z_$][\w$]*)\s*(?=[\[;=,)])")
# _GLOBAL__N__<hash>_<n>_<file>_cu_<hash>, or _INTERNAL_<hash>_...: an anonymous namespace, named
# after its file and build.
_INTERNAL = re.compile(r"(\d+)(_GLOBAL__N_|_INTERNAL_)")
_BUILD_NAME = re.compile(r"(?:_GLOBAL__N__|_INTERNAL_)[0-9a-f]{8}_\d+_\w+_[0-9a-f]{8}(?:_\d+)?")

_BLANKS = re.compile(r"\s*")
_LINE = re.compile(r"\.(?:version|target|address_size|file)\b[^\n]*")  # ends with the line
# Kind and name in `.visible .entry NAME(`, `.func (.param .b32 r) NAME(`, and `.const .align 4 .b8
# NAME[16] =`.
_FUNCTION = re.compile(r"[^;{]*?\.(entry|func)\s*(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)")
_VARIABLE_ITEM = re.compile(r"\.(extern|visible|weak|common|global|const|shared|local)\b[^=\[;]*?([A-Za-z_$][\w$]*)\s*(?=[\[;=])")


@dataclass(frozen=True)
class Kernel:
    name: str  # mangled, as in the file
    hash: str  # of the normalised text, 16 hexadecimal digits


def short_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hash_of_hashes(hashes):
    """A hash of a set of kernels, independent of their order and names."""
    return short_hash("\n".join(sorted(hashes)))


def without_build_hashes(mangled):
    """The mangled name with one name for every anonymous namespace."""
    result, at = "", 0
    while found := _INTERNAL.search(mangled, at):
        digits = found.group(1)
        # In "8sm9046_GLOBAL__N_", 46 is the length and 90 belongs to the previous name. The longest
        # suffix that fits comes last.
        for start in range(len(digits)):
            length = digits[start:]
            end = found.start(2) + int(length)
            segment = mangled[found.start(2):end]
            if not length.startswith("0") and len(segment) == int(length) and _BUILD_NAME.fullmatch(segment):
                result += mangled[at:found.start(1) + start] + "12_GLOBAL__N_1"
                at = end
                break
        else:
            result += mangled[at:found.end()]
            at = found.end()
    return result + mangled[at:]


def _items(text):
    """The module's top-level items: directives up to the end of a line or a semicolon, functions
    with their body."""
    at = _BLANKS.match(text).end()
    while at < len(text):
        if line := _LINE.match(text, at):
            end = line.end()
        else:
            end, depth, is_function = len(text), 0, _FUNCTION.match(text, at) is not None
            for mark in re.compile(r"[{};]").finditer(text, at):
                depth += {"{": 1, "}": -1, ";": 0}[mark.group()]
                if depth == 0 and (mark.group() == ";" or is_function):
                    end = mark.end()
                    break
        yield text[at:end].strip()
        at = _BLANKS.match(text, end).end()


class _Module:
    def __init__(self, text):
        self.symbols, self.entries, self._hashes = {}, [], {}  # symbols: {name: whole item}
        # Line ends stay, because labels are recognised at the beginning of a line.
        for item in _items(_COMMENT.sub("", text)):
            if re.match(r"\.(version|target|address_size|file|section)\b", item):
                continue
            found = _FUNCTION.match(item) or _VARIABLE_ITEM.match(item)
            if found is None:
                raise ValueError(f"PTX item not understood: {item[:120]!r}")
            kind, name = found.groups()
            if kind == "entry":
                self.entries.append(name)
            # a definition replaces a declaration
            if kind != "func" or "{" in item or name not in self.symbols:
                self.symbols[name] = item

    def hash(self, name, within=()):
        if name in within:
            return f"recursion{len(within) - within.index(name)}"
        if name not in self._hashes:
            self._hashes[name] = short_hash(self.normalised(name, within + (name,)))
        return self._hashes[name]

    def normalised(self, name, within):
        # visibility does not count
        body = re.sub(r"^(?:\.(?:visible|weak)\s+)+", "", self.symbols[name])
        lines = [line for line in (raw.strip() for raw in body.split("\n")) if not re.match(r"\.(loc|file)\b", line)]
        labels = set(_LABEL.findall("\n".join(lines)))
        body = " ".join(" ".join(lines).split())
        variables = set(_VARIABLE.findall(body)) - labels
        known = {name: "@self"}

        def rename(match):
            word = match.group()
            if word in known:
                return known[word]
            before = body[match.start() - 1] if match.start() else ""
            if before in "%.":  # a register (%tid too), or a part of an instruction
                return word
            if word.startswith(name + "_param_"):
                new = "@param" + word[len(name + "_param"):]
            elif word in labels:
                new = f"@label{len(known)}"
            elif word in variables:
                new = f"@variable{len(known)}"
            elif word in self.symbols:
                new = f"@{self.hash(word, within)}"
            else:
                return word
            known[word] = new
            return new

        return _WORD.sub(rename, body)


def kernels(text):
    """Every kernel (.entry) of a module, in order."""
    module = _Module(text)
    return [Kernel(name, module.hash(name)) for name in module.entries]
