"""Finds which sources contain kernels, what they include, which launchers they call, and which
implementations they register."""
import hashlib
import posixpath
import re
from functools import lru_cache
from pathlib import Path

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


def without_comments(text):
    """The text with a blank for every comment; strings and line numbers stay."""
    # A digit separator, as in 64'000, does not begin a character.
    def replace(match):
        token = match.group()
        return " " + "\n" * token.count("\n") if token.startswith("/") else token

    return _TOKEN.sub(replace, re.sub(r"(?<=\d)'(?=\d)", "", text))


def closed_at(code, at):
    """The position of the bracket that closes the one at `at`, or None."""
    opens, closes = code[at], {"(": ")", "[": "]", "{": "}"}[code[at]]
    depth = 0
    for found in re.compile(f"[{re.escape(opens + closes)}]").finditer(code, at):
        depth += 1 if found[0] == opens else -1
        if depth == 0:
            return found.start()
    return None


def is_kernel_source(path):
    """Whether it is a .cu file of an implementation, not an exercise, a hole's solution, a test of
    the emulator, or a learner's copy."""
    return (path.endswith(".cu") and not re.search(r"exercise(_sm90)?\.cu$", path)
            and "/solutions/" not in path and not path.startswith(("common/emulator/", "common/xray/", "my/", "build")))


def is_host_source(path):
    """Whether it is a .cpp file that may register an implementation, not a test or an exercise."""
    return (path.endswith(".cpp") and not re.search(r"(^|[/_])(test|exercise|main)\.cpp$|/solutions/", path)
            and not path.startswith(("my/", "build")))


class Tree:
    """The sources of one revision in a folder. `paths` lists them relative to the folder."""

    def __init__(self, root, paths):
        self.root = Path(root)
        self.paths = frozenset(paths)
        self.kernel_sources = sorted(path for path in self.paths if is_kernel_source(path))

    @lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    @lru_cache(maxsize=None)
    def code(self, path):
        return without_comments(self.text(path))

    @lru_cache(maxsize=None)
    def closure(self, path):
        """The file and all files of the repository that it includes, directly or not. Conditions of
        #if are ignored."""
        def included(current):
            for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', self.code(current), re.MULTILINE):
                beside = posixpath.normpath(posixpath.join(posixpath.dirname(current), name))
                yield from [each for each in (beside, name) if each in self.paths][:1]

        return _all_from(path, included)

    @lru_cache(maxsize=None)
    def closure_hash(self, path):
        """A hash of the repository's text that a compiler sees in this file, without comments and
        blanks."""
        digest = hashlib.sha256()
        for each in self.closure(path):
            digest.update("\n".join((each, " ".join(self.code(each).split()), "")).encode())
        return digest.hexdigest()[:16]

    @lru_cache(maxsize=None)
    def registered(self):
        """{implementation: the file that registers it for a GPU}"""
        names = {}
        for path in sorted(self.paths):
            if not is_kernel_source(path) and not (is_host_source(path) and "kCuda" in self.code(path)):
                continue
            for body in re.findall(r"\bRegistration\s+\w+\s*\{(.*?)\};", self.code(path), re.DOTALL):
                named = re.search(r'\.name\s*=\s*"([^"]+)"', body) or re.search(r'"([^"]+)"', body)
                if named:
                    names[named.group(1)] = path
            for body in re.findall(r"\bRegistration\s+\w+\[\]\s*=\s*\{(.*?)\};", self.code(path), re.DOTALL):
                names |= dict.fromkeys(re.findall(r'\w(?:<[^<>]*>)?\("([^"]+)"', body), path)
        return names

    @lru_cache(maxsize=None)
    def _functions(self):
        """{qualified name of a function that a .cu file defines at namespace scope: the files}"""
        functions = {}
        for path in self.kernel_sources:
            for name in _functions_of(self.code(path)):
                functions.setdefault(name, set()).add(path)
        return functions

    @lru_cache(maxsize=None)
    def called(self, path):
        """The kernel sources whose launchers this file calls, by qualified name through a header or
        by find_implementation."""
        code = self.code(path)
        spaces = {""}
        for space in re.findall(r"^(?:inline\s+)?namespace\s+([\w:]+)\s*\{", code, re.MULTILINE):
            parts = space.split("::")
            spaces |= {"::".join(parts[:n]) + "::" for n in range(1, len(parts) + 1)}
        files = set()
        headers = "\n".join(self.code(each) for each in self.closure(path) if each.endswith(".hpp"))
        # called, or in a list of launchers
        for name in set(re.findall(r"(?<![\w.>:])((?:\w+::)*\w+)\s*(?:<[^<>;(){}]*>)?\s*[(},]", code)):
            simple = name.rsplit("::", 1)[-1]
            if not re.search(rf"\b{simple}\s*\([^;{{}}]*\)\s*;", headers):
                continue  # a function that no header declares is local to this file
            # C++'s name lookup takes the innermost namespace that has it.
            for space in sorted(spaces, key=len, reverse=True):
                if space + name in self._functions():
                    files |= self._functions()[space + name]
                    break
        if "find_implementation" in code:
            # The names are in this file, or in the .cpp of a header that it includes.
            twins = {re.sub(r"\.hpp$", ".cpp", each) for each in self.closure(path)} & self.paths
            names = self.registered()
            for text in (code, *map(self.code, twins)):
                files |= {names[name] for name in re.findall(r'"(\w+)"', text) if name in names}
        return tuple(sorted(files - {path}))

    def reached(self, path):
        """The file and all sources whose kernels it may launch."""
        return _all_from(path, self.called)


def _all_from(path, next_of):
    """The path, and all paths that `next_of` reaches from it."""
    found, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += next_of(current)
    return tuple(sorted(found))


def _functions_of(code):
    """The qualified names of functions with a body at namespace scope. Functions in anonymous
    namespaces are local."""
    spaces, names, before, depth = [], [], "", 0
    for piece in re.split(r"([{};])", code):
        if piece == "{":
            space = re.search(r"\bnamespace\b\s*([\w:]*)\s*$", before)
            if depth == len(spaces) and space:
                spaces.append(space.group(1) or "(anonymous)")
            elif depth == len(spaces) and "(anonymous)" not in spaces:
                function = re.search(r"([\w~]+)\s*\(.*\)\s*(?:const)?\s*$", before, re.DOTALL)
                elsewhere = re.search(r"\b(struct|class|enum|static|__global__|__device__)\b", before)
                if function and "=" not in before.split("(")[0] and not elsewhere:
                    names.append("::".join([*spaces, re.search(r"(\w+)\s*\(", before).group(1)]))
            depth += 1
        elif piece == "}":
            depth -= 1
            if depth < len(spaces):
                spaces.pop()
        if piece in "{};":
            before = ""
        else:
            before = piece
    return names
