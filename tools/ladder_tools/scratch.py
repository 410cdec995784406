"""Makes a kernel from scratch: the kernel without the lines that more/scratch.holes of its lesson
names, in the kernel's order, and with TODOs instead:

    "const Vec3 x" .. "store("        the next line that begins with the first words, up to the next
                                      one that begins with the last words
      1: roughly 3 lines; what;       becomes `// TODO(1): roughly 3 lines; what;`, indented like
         budget: what it may cost     the first line, and `// TODO(1): budget: what it may cost`
    "copy(q)"                         one line
      1: roughly 1 line; the copy
      2: roughly 2 lines; the rest    two adjacent TODOs
    "return sum"
      1: roughly 1 line; the mean
      + return 0;                     a line of code in addition, so that the stub compiles
    "for (int i" .. "int sum" .. "}"  with a line between, if the last words also begin another
    below "void f(": "int n" .. "}"   after a line that stays, if the first words also begin an
                                      earlier one

A #pragma goes with the next line. Words that begin with a } match no line that is indented more
than the first line; "" is an empty line."""
import math
import re

_CUT = re.compile(r'(?:below "([^"]+)": )?("[^"]+"(?: \.\. "[^"]*")*)')
_TODO = re.compile(r"  ([0-9]+): (.+)")
_FURTHER = re.compile(r"     (\S.*)")
_CODE = re.compile(r"  \+ (.+)")
_ALLOWED = 'allowed: "words" .. "words", and below it "  1: roughly 3 lines; what", and five blanks before further lines'


def depth_of(line):
    return len(line) - len(line.lstrip())


class _Kernel:
    """The kernel's lines, and the line from which the next search starts."""

    def __init__(self, path, text):
        self._path, self.lines, self.at = path, text.splitlines(), 0

    def find(self, words, most=math.inf):
        """The next line that begins with the words. A closing bracket must not be indented more
        than `most`."""
        for number in range(self.at, len(self.lines)):
            line = self.lines[number].strip()
            if (line.startswith(words) if words else not line) and not (words.startswith("}") and depth_of(self.lines[number]) > most):
                self.at = number + 1
                return number
        is_above = any(line.strip().startswith(words) for line in self.lines[:self.at])
        raise ValueError(f'no line of {self._path} after line {self.at} begins with "{words}"' + (", only an earlier one" if is_above else ""))

    def cut(self, above, names):
        """(first line, its indentation, line after the last)"""
        before = self.find(above) + 1 if above else self.at
        first, *others = names
        begin = self.find(first)
        depth = depth_of(self.lines[begin])
        for words in others:
            self.find(words, depth)
        while begin > before and self.lines[begin - 1].startswith("#pragma"):
            begin -= 1
        return begin, depth, self.at


def stub_of(holes, path_of_holes, kernel, path_of_kernel):
    """The stub's text. Raises ValueError if a line of the holes is malformed or matches nothing in
    today's kernel."""
    kernel, stub, done, depth, hole = _Kernel(path_of_kernel, kernel), [], 0, None, None
    for number, line in enumerate(holes.splitlines(), 1):
        cut, todo, further, code = (kind.fullmatch(line) for kind in (_CUT, _TODO, _FURTHER, _CODE))
        try:
            if cut:
                begin, depth, end = kernel.cut(cut[1], re.findall('"([^"]*)"', cut[2]))
                stub += kernel.lines[done:begin]
                done, hole = end, None
            elif depth is None or not (todo or (further or code) and hole):
                raise ValueError(_ALLOWED)
            elif code:
                stub.append(" " * depth + code[1])
            else:
                hole, said = todo.groups() if todo else (hole, further[1])
                stub.append(f"{' ' * depth}// TODO({hole}): {said}")
        except ValueError as error:
            raise ValueError(f"{path_of_holes}:{number}: {error}") from None
    return "\n".join(stub + kernel.lines[done:]) + "\n"
