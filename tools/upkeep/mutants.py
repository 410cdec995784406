"""Small changes of kernels that a test should notice."""
import difflib
import random
import re
from dataclasses import dataclass

from sources import closed_at

KINDS = ("stride", "bound", "barrier", "scale", "dropped term", "sign", "guard", "precision")
# The largest share of mutants in code that checks arguments and launches; the others are in
# kernels.
HOST_SHARE = 0.15
# A launcher's numbers are rules of thumb. Another number costs time but gives the same result.
_OF_KERNELS_ONLY = ("barrier", "precision", "scale")

_BLANKED = re.compile(
    r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\bstatic_assert\s*\([^;]*;|\bconst(?:expr)? ladder::Registration\b.*?\}\};'
    r"|\bconst ladder::Registration\b[^;]*;|\btemplate <[^{;()]*?>\s*\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    file: str
    kind: str
    where: str  # "device" or "host"
    start: int
    end: int
    text: str  # the replacement for [start, end)

    def apply(self, source):
        return source[:self.start] + self.text + source[self.end:]

    def line(self, source):
        return source.count("\n", 0, self.start) + 1

    def diff(self, source):
        return "".join(difflib.unified_diff(source.splitlines(True), self.apply(source).splitlines(True), self.file, self.file,
                                            n=1))


def blanked(source):
    """The text with blanks instead of comments, strings, directives, assertions, template heads and
    registrations, at the same positions."""
    return _BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)


_HAS_DEVICE_CODE = re.compile(r"\b__(global|device)__\b")


def regions(code):
    """For each function body: its first and last position, and "device" or "host". A file without
    device code is a CPU kernel as a whole."""
    host = "host" if _HAS_DEVICE_CODE.search(code) else "device"
    found, before, stack = [], 0, []
    for mark in re.finditer(r"[{};]", code):
        if mark.group() == "{":
            head = code[before:mark.start()]
            inside = stack and stack[-1][1] is not None
            is_function = re.search(r"\)\s*(?:const\b|noexcept\b|\s|:[^{]*)*$", head) and not re.search(
                r"\b(struct|class|enum|namespace|union)\b[^()]*$", head)
            kind = None
            if inside:
                kind = "within"
            elif is_function:
                kind = "device" if _HAS_DEVICE_CODE.search(head) else host
            stack.append((mark.end(), kind))
        elif mark.group() == "}" and stack:
            start, kind = stack.pop()
            if kind in ("device", "host"):
                found.append((start, mark.start(), kind))
        before = mark.end()
    return sorted(found)


def _term_end(code, at):
    """The end of the product that begins at `at`: operands with brackets, * / % and unary signs."""
    operand = re.compile(r"\s*[-!~*&]?\s*(?:[\w.:]+<[^<>;(){}]*(?:<[^<>;(){}]*>)?>(?=\()"
                         r"|std::int64_t(?=\{)|[\w.]+(?:(?:::|->|\.)\w+)*)?")
    while True:
        match = operand.match(code, at)
        at = match.end()
        while at < len(code) and code[at] in "([{":
            closing = closed_at(code, at)
            if closing is None:
                return None
            at = closing + 1
            if (more := re.compile(r"(?:\.|->|::)\w+").match(code, at)):
                at = more.end()
        if (more := re.compile(r"\s[*/%]\s").match(code, at)):
            at = more.end()
            continue
        return at


def _operand_start(code, at):
    """The start of the operand that ends at `at`. It has no blanks outside brackets."""
    depth = 0
    while at > 0:
        c = code[at - 1]
        if c in ")]":
            depth += 1
        elif c in "([":
            depth -= 1
        if depth < 0 or (depth == 0 and (c.isspace() or c in ";{}")):
            break
        at -= 1
    return at


_SIZE = r"(?:args\.|s\.|C::|L::)?(?:B|T|H|K|V|D|E|M|H_q|H_kv|T_q|T_k|k[A-Z]\w*|\w*stride\w*|threads|rows|columns|width)"
_SWAPS = {"K": "V", "V": "K", "args.K": "args.V", "args.V": "args.K", "ik": "iv", "iv": "ik", "H_q": "H_kv", "H_kv": "H_q",
          "args.H_q": "args.H_kv", "args.H_kv": "args.H_q", "T_q": "T_k", "T_k": "T_q", "stride_q": "stride_k",
          "stride_k": "stride_q", "args.log_w_stride_B": "args.log_w_stride_T", "args.log_w_stride_T": "args.log_w_stride_B",
          "h": "b", "h_kv": "h", "row": "column", "column": "row"}
_BARRIERS = r"__syncthreads|__syncwarp|__pipeline_wait_prior|__pipeline_commit|wait|wait_for_k|wait_for_v|wgmma_wait_group|wgmma_commit_group|arrive"


def _stride(code):
    for found in re.finditer(rf" [*] (?:{_SIZE})(?![\w.(:\[])", code):
        yield found.start(), found.end(), ""
    for found in re.finditer(r" ([*/%]) (\d+)(?![\w.])", code):
        number = int(found.group(2))
        yield found.start(2), found.end(2), str(number // 2 if number > 1 and number % 2 == 0 else number + 1)
    for found in re.finditer(r"(?<![\w.:>])(?:args\.)?\w+(?![\w(:<])", code):
        if found.group() in _SWAPS and re.search(r"[*+/\[] $|[*+/\[]$|= $", code[max(0, found.start() - 2):found.start()]):
            yield found.start(), found.end(), _SWAPS[found.group()]


def _bound(code):
    others = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    for found in re.finditer(r"(?<=[\w)\]] )(<=|>=|<|>)(?= [\w(\-&*])", code):
        yield found.start(), found.end(), others[found.group()]
    for found in re.finditer(r"\bfor \([^;{}]*;([^;{}]*?(?:<|<=|>|>=) )([^;{}&|]+);", code):
        yield found.end(2), found.end(2), " - 1"
        yield found.end(2), found.end(2), " + 1"
    for found in re.finditer(r"(?<![\w.])(?:std::)?(min|max)(?=[(<])", code):
        yield found.start(1), found.end(1), "max" if found.group(1) == "min" else "min"


def _barrier(code):
    for found in re.finditer(rf"(?<![\w.])(?:\w+::)*(?:{_BARRIERS})\(", code):
        closing = closed_at(code, found.end() - 1)
        statement = code[max(0, found.start() - 200):found.start()].rstrip()
        if closing is None or code[closing + 1:closing + 2] != ";" or statement[-1:] not in "{};)":
            continue
        yield found.start(), closing + 1, ""
        number = code[found.end():closing]
        if "wait_prior" in found.group() and number.strip():
            yield found.end(), closing, f"{number} + 1"


def _floats(code):
    """The names that are declared as float."""
    names = set()
    for found in re.finditer(r"\bfloat[&*]? (?:\(&)?((?:\w+(?:\[[^\]]*\])*(?: = [^,;(){}]*)?(?:, )?)+)", code):
        names |= set(re.findall(r"(?:^|, )(\w+)", found.group(1)))
    return names


def _scale(code):
    floats = _floats(code)
    for found in re.finditer(r"(?<![\w.])(\d+\.\d*|\.\d+|\d+\.?\d*e-?\d+)f?(?![\w.])", code):
        if float(found.group(1)) != 0:
            yield found.start(), found.end(), f"{float(found.group(1)) * 0.5!r}f"
        else:
            yield found.start(), found.end(), "1.0f"
    for found in re.finditer(r" [*/] ((?:args\.)?\w+)(?:\.[xyzw])?((?:\[[^\[\]]*\])*)(?![\w.(:<])", code):
        if re.search("scale|factor|inverse|norm|log2|Log2", found.group(1)) or found.group(1) in floats:
            yield found.start(), found.end(), ""
    for found in re.finditer(r"(?<![\w.])((?:args\.)?(?:\w*scale\w*|\w*factor\w*|\w*inverse\w*|k\w*Log2\w*))((?:\[[^\[\]]*\])*) [*] ", code):
        yield found.start(), found.end(), ""


def _dropped(code):
    for found in re.finditer(r"(?<=[\w)\]]) [+-] (?=[\w(*\-])", code):
        end = _term_end(code, found.end())
        if end is not None and end > found.end():
            yield found.start(), end, ""
    for found in re.finditer(r" [+*-]= [^;{}]*(?=;)", code):
        start = _operand_start(code, found.start())
        if code[:start].rstrip()[-1:] in list(";{})") and code.count("(", start, found.end()) == code.count(")", start, found.end()):
            yield start, found.end(), ""


def _sign(code):
    for found in re.finditer(r"(?<=[\w)\]]) ([+-])(?= [\w(*\-])", code):
        yield found.start(1), found.end(1), "-" if found.group(1) == "+" else "+"
    for found in re.finditer(r" ([+-])= ", code):
        yield found.start(1), found.end(1), "-" if found.group(1) == "+" else "+"
    for found in re.finditer(r"(?:(?<=[(,=?:] )|(?<=return )|(?<=[(\[{]))-(?=[A-Za-z_(])", code):
        yield found.start(), found.end(), ""


def _guard(code):
    for found in re.finditer(r"\bif \(", code):
        closing = closed_at(code, found.end() - 1)
        if closing is not None:
            for value in ("true", "false"):
                yield found.end(), closing, value
    for found in re.finditer(r" (&&|\|\|) ", code):
        end, depth = found.end(), 0
        while end < len(code):
            if code[end] in "([{":
                depth += 1
            elif code[end] in ")]}":
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and (code[end] in ";?," or code.startswith((" &&", " ||"), end)):
                break
            end += 1
        yield found.start(), len(code[:end].rstrip()), ""
    condition = r"(?:= |return |\(|, )([^;{}?()=,]*(?:\([^()]*\)[^;{}?()=,]*)*)(?= \? )"
    for found in re.finditer(condition, code):
        for value in ("true", "false"):
            yield found.start(1), found.end(1), value


def _precision(code):
    floats = _floats(code)
    for found in re.finditer(r"(?<=[;{})])\s*(?:const )?(?:float )?(\w+)((?:\[[^;=]*?\])*)(?:\.[xyzw])? [+]?= ([^;{}]+);", code):
        if found.group(1) not in floats or re.fullmatch(r"[\d.]+f?", found.group(3)):
            continue
        if found.group(3).count("(") != found.group(3).count(")") or " = " in found.group(3):
            continue
        for half, mask in (("0x8000u", "0xffff0000u"), ("0x1000u", "0xffffe000u")):  # bf16 and TF32
            rounded = f"(__float_as_uint({found.group(3)}) + {half}) & {mask}"
            if _HAS_DEVICE_CODE.search(code):
                yield found.start(3), found.end(3), f"__uint_as_float({rounded})"
            else:
                yield found.start(3), found.end(3), "__builtin_bit_cast(float, " + rounded.replace(
                    "__float_as_uint(", "__builtin_bit_cast(unsigned, float(", 1).replace(f") + {half}", f")) + {half}") + ")"


_SITES = dict(zip(KINDS, (_stride, _bound, _barrier, _scale, _dropped, _sign, _guard, _precision)))


def mutants_of(file, source):
    """Every mutant of a file, in an order that depends only on the file."""
    code = blanked(source)
    functions = regions(code)
    found = {}
    for kind, sites in _SITES.items():
        for start, end, text in sites(code):
            where = next((kind_of for first, last, kind_of in functions if first <= start and end <= last), None)
            if where is None or source[start:end] == text or (where == "host" and kind in _OF_KERNELS_ONLY):
                continue
            if re.match(r" ?- 1\) / ", code[start:start + 8]):
                continue  # one block too many does nothing, since the guard stops it
            text_of_original = text
            if kind == "precision":  # strings and comments are blanked in `code`
                text_of_original = text.replace(code[start:end], source[start:end])
            found.setdefault((start, end, text_of_original), Mutant(file, kind, where, start, end, text_of_original))
    return sorted(found.values(), key=lambda m: (m.start, m.end, m.kind, m.text))


def drawn(sources, seed):
    """The mutants of `sources` (file -> text) in a random order, given by a seed. It alternates
    kinds, and files within a kind, and changes each place only once."""
    rng = random.Random(seed)
    piles = {}  # {(kind, where): {file: mutants}}
    for file in sorted(sources):
        for mutant in mutants_of(file, sources[file]):
            piles.setdefault((mutant.kind, mutant.where), {}).setdefault(file, []).append(mutant)
    for files in piles.values():
        for mutants in files.values():
            rng.shuffle(mutants)
    used, turns = set(), []

    def take(kind, where):
        files = piles.get((kind, where), {})
        # A longer file gets more mutants, by the number that it has left.
        while any(files.values()):
            names = sorted(name for name in files if files[name])
            name = rng.choices(names, [len(files[name]) ** 0.5 for name in names])[0]
            mutant = files[name].pop()
            if not any(mutant.file == file and mutant.start < end and start < max(mutant.end, mutant.start + 1)
                       for file, start, end in used):
                used.add((mutant.file, mutant.start, max(mutant.end, mutant.start + 1)))
                return mutant
        return None

    while True:
        round_of_kinds = list(KINDS)
        rng.shuffle(round_of_kinds)
        got = []
        for kind in round_of_kinds:
            first, second = ("host", "device") if rng.random() < HOST_SHARE else ("device", "host")
            mutant = take(kind, first) or take(kind, second)
            if mutant:
                got.append(mutant)
        if not got:
            return turns
        turns += got
