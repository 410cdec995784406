"""Where the first value goes wrong: a learner's kernel and ours, watched by the X-ray in the same test, compared by what they store and read.

Values are compared by array and element, not by time: a kernel that does its work in another order stores the same values. So an
element's value is taken for right if our kernel ever stores it there."""
import json
import math
import re
import struct
from array import array
from collections import Counter

_LOAD, _STORE, _ATOMIC = range(3)
_FIELDS = 8
_TOLERANCE = {2: 2e-2, 4: 1e-3, 8: 1e-6}  # of the value, by bytes: sums in another order differ by less


class Trail:
    """What a program wrote with LADDER_XRAY_VALUES in its environment (ValueTouch in common/xray/values.hpp)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            head = json.loads(file.readline())
            numbers = array("Q", file.read())
        self.complete = head["complete"]
        self.arrays, self.launches, self.places = (head.get(key) or [] for key in ("arrays", "launches", "places"))
        self.touches = [Touch(self, *numbers[at:at + _FIELDS]) for at in range(0, len(numbers), _FIELDS)]


class Touch:
    """One element, as a thread reads or stores it."""
    __slots__ = ("trail", "operation", "launch", "block", "thread", "place", "array", "element", "bits")

    def __init__(self, trail, *numbers):
        self.trail = trail
        self.operation, self.launch, self.block, self.thread, self.place, self.array, self.element, self.bits = numbers

    @property
    def kind(self):
        return self.trail.arrays[self.array]

    def key(self, blocks):
        """The element, to be found in the other kernel's run; of shared memory, and with `blocks`, of this block."""
        return (self.launch, self.kind["name"], self.block if blocks or self.kind["shared"] else None, self.element)

    def name(self):
        """q(b=0, t=1, h=0, j=3), or kv_smem[1][0]."""
        parts, index = [], self.element
        axes = re.findall(r"(\w+|\[\])=(\d+)", self.kind["axes"])
        for at, (axis, size) in reversed(list(enumerate(axes))):
            along = index % int(size) if at else index  # of an array of unknown length the first axis has size 1
            parts.insert(0, f"[{along}]" if axis == "[]" else f"{axis}={along}")
            index //= max(1, int(size))
        indices = "".join(parts) if self.kind["shared"] else f"({', '.join(parts)})"
        return self.kind["name"] + (indices if axes else f"[{self.element}]")

    def number(self, half="e"):
        """`half`: what 2 bytes are, "e" (fp16) or "b" (bf16)."""
        size = self.kind["bytes"]
        if size == 2 and half == "b":
            return struct.unpack("<f", struct.pack("<I", (self.bits & 0xFFFF) << 16))[0]
        form = {2: "<e", 4: "<f", 8: "<d"}.get(size)
        if form is None:
            return self.bits
        number = struct.unpack(form, struct.pack("<Q", self.bits)[:size])[0]
        # Whole numbers of 4 bytes, taken for floats, are too small to be any.
        return struct.unpack("<i", struct.pack("<I", self.bits))[0] if size == 4 and 0 < abs(number) < 1e-37 else number

    def is_in(self, kernel):
        """The index of the first step of a report's kernel that holds this touch; None if none does."""
        file, _, line = self.trail.places[self.place][0].rpartition(":")
        grid, _ = self.trail.launches[self.launch]
        for at, step in enumerate(kernel["steps"]):
            site = kernel["sites"][step["site"]]
            if ((site["file"], site["line"], step["warp"]) == (file, int(line), self.thread // 32)
                    and _index(self.block, grid) == f"({', '.join(map(str, step['block']))})"):
                return at
        return None

    def where(self):
        place, called_at = self.trail.places[self.place]
        grid, block = self.trail.launches[self.launch]
        return f"{called_at or place} by thread {_index(self.thread, block)} of block {_index(self.block, grid)}"


def _index(linear, extent):
    x, y, _ = extent
    return f"({linear % x}, {linear // x % y}, {linear // x // y})"


def _same(a, b, scale, tolerance):
    if isinstance(a, int) or isinstance(b, int) or not (math.isfinite(a) and math.isfinite(b)):
        return a == b or a != a and b != b
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-3 * tolerance * scale


class _Ours:
    """Our kernel's run, by element."""

    def __init__(self, trail, half):
        self.stored, self.read, self.scale = {}, set(), Counter()
        self.arrays = set()  # (launch, name)
        for touch in trail.touches:
            self.arrays.add((touch.launch, touch.kind["name"]))
            if touch.operation == _LOAD:
                self.read.add(touch.key(True))
                self.read.add(touch.key(False))
                continue
            number = touch.number(half)
            known = self.stored.setdefault(touch.key(False), [])
            if touch.operation == _ATOMIC:
                known.clear()  # of sums that grow only the last is the same in every order
            known.append(number)
            if math.isfinite(number):
                self.scale[touch.kind["name"]] = max(self.scale[touch.kind["name"]], abs(number))

    def has_stored(self, touch, half):
        number, name = touch.number(half), touch.kind["name"]
        return any(_same(number, other, self.scale[name], _TOLERANCE.get(touch.kind["bytes"], 0))
                   for other in self.stored.get(touch.key(False), ()))


def _grows(touches):
    """Those atomics whose value is not their element's last."""
    last = {}
    for at, touch in enumerate(touches):
        if touch.operation == _ATOMIC:
            last[touch.key(False)] = at
    return {at for at, touch in enumerate(touches) if touch.operation == _ATOMIC and last[touch.key(False)] != at}


def _text(number):
    return str(number) if isinstance(number, int) else f"{number:.4g}"


def first_wrong(yours, ours, half="e"):
    """Sentences about the first value that only `yours` stores, and the first element that only it reads; and the touch they are about.
    [] and None if there is neither."""
    if not (yours.complete and ours.complete):
        return [], None
    right, growing = _Ours(ours, half), _grows(yours.touches)
    alike = [at < len(ours.launches) and launch == ours.launches[at] for at, launch in enumerate(yours.launches)]
    stray = wrong = None
    for at, touch in enumerate(yours.touches):
        if (touch.launch, touch.kind["name"]) not in right.arrays or touch.kind["shared"] and not alike[touch.launch]:
            continue
        if touch.operation == _LOAD:
            if stray is None and touch.key(alike[touch.launch]) not in right.read:
                stray = touch
        elif at not in growing and not right.has_stored(touch, half):
            wrong = touch
            break
    said = []
    if stray is not None and (wrong is None or (stray.launch, stray.block) == (wrong.launch, wrong.block)):
        reader = "block" if alike[stray.launch] else "kernel"
        said.append(f"First element read that our {reader} never reads: {stray.name()} at {stray.where()}.")
    if wrong is not None:
        known = right.stored.get(wrong.key(False), [])
        others = list(dict.fromkeys(_text(number) for number in known))
        ours_is = ("our kernel stores nothing there" if not known else f"ours stores {others[0]}" if len(others) == 1
                   else f"ours stores {', '.join(others[:3])}{', ...' if len(others) > 3 else ''} there")
        said.append(f"First value that differs from ours: {wrong.name()} = {_text(wrong.number(half))} at {wrong.where()}; {ours_is}.")
        if stray is None and alike[wrong.launch]:
            said += _unread(yours, ours, wrong)
    elif stray is None:
        said += _unwritten(yours, right)
    return said, wrong or stray


def _unread(yours, ours, wrong):
    """What our block reads, and this one does not."""
    def reads(trail):
        return {touch.key(True)[1::2]: touch for touch in trail.touches
                if touch.operation == _LOAD and (touch.launch, touch.block) == (wrong.launch, wrong.block)}
    theirs = reads(yours)
    missed = [touch for key, touch in reads(ours).items() if key not in theirs]
    if not missed:
        return ["All that our block reads, yours reads: look at what is computed from it."]
    names = Counter(touch.kind["name"] for touch in missed)
    return [f"Our block also reads {' and '.join(f'{count} element{chr(115) * (count > 1)} of {name}' for name, count in list(names.items())[:3])}"
            f" (the first: {missed[0].name()}); yours does not."]


def _unwritten(yours, right):
    """What our kernel stores in an array of the device, and this one does not."""
    stored = {touch.key(False) for touch in yours.touches if touch.operation != _LOAD}
    missed = [key for key in right.stored if key not in stored and key[2] is None]
    names = Counter(key[1] for key in missed)
    return [f"Yours stores nothing in {count} element{'s' * (count > 1)} of {name} that ours stores." for name, count in names.items()]
