"""Finds where the first value goes wrong: compares what a learner's kernel and ours store and read
in the same test under the X-ray.

Values are compared by array and element, not by time, because a kernel that works in another order
stores the same values. An element's value counts as right if our kernel ever stores it there."""
import json
import math
import re
import struct
from array import array
from bisect import bisect_left
from collections import Counter
from functools import cache, cached_property
from itertools import islice
from pathlib import Path

from ladder_tools.place import text_of

_LOAD, _STORE, _ATOMIC = range(3)
_FIELDS, _TAKE_FIELDS, _END_FIELDS = 8, 6, 7
# relative, by format; sums in another order differ by less
_TOLERANCE = {"f": 1e-3, "e": 1e-2, "b": 2e-2}

# how many values are searched at other elements, and how many must be found
_MOST_MOVED, _FEWEST_MOVED = 256, 4
_LARGEST_NUMBER = 16  # in bytes; a larger element is a struct
# how many numbers decide on a format, and which share must look like it
_FEWEST_WORDS, _MOST_ARE = 12, 0.9
# the usual range of 16-bit numbers, by format
_USUAL = {"b": (2.0 ** -24, 2.0 ** 8), "e": (2.0 ** -9, 2.0 ** 3)}
_MOST_TAKES = 12  # more shuffles are not listed
# a NaN that processors produce; larger bits are a small negative integer
_FIRST_NEGATIVE = 0xFFC00000


class Trail:
    """A program's output with LADDER_XRAY_VALUES in its environment (ValueTouch in
    common/xray/values.hpp)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            head = json.loads(file.readline())
            numbers = array("Q", file.read())
        touches, takes = head["touches"] * _FIELDS, head["takes"] * _TAKE_FIELDS
        self.takes = list(zip(*(numbers[touches + at:touches + takes:_TAKE_FIELDS] for at in range(_TAKE_FIELDS))))
        ends = zip(*(numbers[touches + takes + at::_END_FIELDS] for at in range(_END_FIELDS)))
        # The newest of a thread's last basic blocks is the kernel's end; the one before is where
        # its branches join.
        self.ends = {(launch, block, thread): places[2:] for launch, block, thread, *places in ends}
        numbers = numbers[:touches]
        self.complete, self._all_takes = head["complete"], head["all_takes"]
        self.arrays, self.launches, self.kernels, self.places = (head.get(key) or [] for key in ("arrays", "launches", "kernels", "places"))
        self._columns = [numbers[at::_FIELDS] for at in range(_FIELDS)]

    def is_whole(self, number):
        """Whether this launch was kept whole. In a run that was too long, the last one may be cut
        off."""
        return self.complete or bool(self._columns[1]) and number < self._columns[1][-1]

    def has_takes(self, number):
        """Whether all values that lanes of this launch took from other lanes were kept."""
        return self._all_takes or bool(self.takes) and number < self.takes[-1][0]

    def _of_launch(self, number):
        """The columns of the launch's rows, which are in the order of the run."""
        part = slice(*(bisect_left(self._columns[1], each) for each in (number, number + 1)))
        return [column[part] for column in self._columns]

    def at(self, row):
        """How many rows come before the first one that equals this row."""
        launch, rows = self._of_launch(row[1]), bisect_left(self._columns[1], row[1])
        return rows + next(at for at, each in enumerate(zip(*launch)) if each == row)

    def launch(self, number):
        """The launch's rows."""
        return list(zip(*self._of_launch(number)))

    def does_the_same(self, other, number):
        """Whether another program's launch makes the same loads and stores in the same order, in
        whatever lines."""
        mine, theirs = self._of_launch(number), other._of_launch(number)
        names = [[trail.arrays[which]["name"] for which in sorted(set(columns[5]))] for trail, columns in ((self, mine), (other, theirs))]
        return mine[:4] == theirs[:4] and mine[5:] == theirs[5:] and names[0] == names[1]


class Touch:
    """A row: a thread loads or stores one element."""

    def __init__(self, trail, row):
        self.trail = trail
        self.operation, self.launch, self.block, self.thread, self.place, self.array, self.element, self.bits = row

    @property
    def kind(self):
        return self.trail.arrays[self.array]

    def name(self):
        """q(b=0, t=1, h=0, j=3), or kv_smem[1][0]; for a struct "tiles[0] from its byte 64 on"."""
        word = max(1, self.kind["bytes"] // 4)  # words of 4 bytes in an element
        within = f" from its byte {4 * (self.element % word)} on" if self.element % word else ""
        parts, index = [], self.element // word
        axes = self.kind["axes"]
        for at, (axis, size) in reversed(list(enumerate(axes))):
            # the first axis of an array of unknown length has size 1
            along = index % size if at else index
            parts.insert(0, f"[{along}]" if axis == "[]" else f"{axis}={along}")
            index //= max(1, size)
        indices = "".join(parts) if self.kind["shared"] else f"({', '.join(parts)})"
        if " " in self.kind["name"]:  # "an allocation of 512 bytes"
            return f"element {self.element // word} of {self.kind['name']}{within}"
        return self.kind["name"] + (indices if axes else f"[{self.element // word}]") + within

    def number(self, half="e"):
        """The bits as a number: the first 4 bytes as fp32, 2 bytes in the format `half`."""
        size = self.kind["bytes"]
        return _unpacked("<f", self.bits) if size >= 4 else _halves(self.bits, half)[0] if size == 2 else self.bits

    def text(self, half, pairs=False):
        """`pairs`: whether 4 bytes are two numbers of 16 bits."""
        size, number = self.kind["bytes"], self.number(half)
        if size >= 4 and pairs:
            return "({:.4g}, {:.4g})".format(*_halves(self.bits, half))
        is_negative = size == 4 and self.bits > _FIRST_NEGATIVE
        if size == 2 or size == 4 and not is_negative and (self.bits == 0 or not abs(number) < 1e-30):
            return f"{number:.4g}"
        if size > 4 and (self.bits == 0 or 1e-30 <= abs(number) < 1e30):
            return f"{number:.4g}"  # a large element's first number, most likely fp32
        return f"{_unpacked('<i', self.bits)}" if size == 4 else f"{self.bits}" if size == 1 else f"{self.bits:#0{2 + 2 * min(4, size)}x}"

    def is_in(self, kernel):
        """The index of the first step of a report's kernel that contains this touch, or None."""
        file, _, line = self.trail.places[self.place][0].rpartition(":")
        grid, _ = self.trail.launches[self.launch]
        for at, step in enumerate(kernel["steps"]):
            site = kernel["sites"][step["site"]]
            if ((site["file"], site["line"], step["warp"]) == (file, int(line), self.thread // 32)
                    and _index(self.block, grid) == f"({', '.join(map(str, step['block']))})"):
                return at
        return None

    def as_error(self, step, said):
        """An error at this step of a report's kernel, so that the page draws its lane in red."""
        file, _, line = self.trail.places[self.place][0].rpartition(":")
        grid, block = self.trail.launches[self.launch]
        operation = ("load", "store", "atomic")[self.operation]
        party = {"operation": operation, "by": "", "file": file, "line": int(line), "block": _coordinates(self.block, grid), "thread": _coordinates(self.thread, block)}
        return {"kind": "wrong value", "message": " ".join(said), "space": "shared" if self.kind["shared"] else "global", "buffer": self.kind["name"],
                "offset": self.element * min(4, self.kind["bytes"]), "bytes": min(4, self.kind["bytes"]), "size": 0, "count": 1, "step": step, "party": party, "other": None}

    @staticmethod
    def line(trail, place):
        where, *called_at = trail.places[place]
        # a helper's own line does not help
        lines = called_at if called_at and not where.partition(":")[0].endswith(".cu") else [where, *called_at]
        return ", called at ".join(lines)

    def code(self):
        """The first line that names a member of the struct that the element is in. Earlier places
        may be helpers."""
        for place in self.trail.places[self.place] if self.kind["bytes"] > _LARGEST_NUMBER else ():
            file, _, line = place.rpartition(":")
            lines = text_of(Path(file)).splitlines()
            if int(line) <= len(lines) and re.search(r"\w(\.|->)\w+\[", lines[int(line) - 1]):
                return f" {place}: `{lines[int(line) - 1].strip()}`"
        return ""

    def who(self):
        grid, block = self.trail.launches[self.launch]
        return f"thread {_index(self.thread, block)} of block {_index(self.block, grid)}"

    def where(self):
        return f"{self.line(self.trail, self.place)} by {self.who()}"


def _coordinates(linear, extent):
    x, y, _ = extent
    return [linear % x, linear // x % y, linear // x // y]


def _index(linear, extent):
    return f"({', '.join(map(str, _coordinates(linear, extent)))})"


def _unpacked(form, bits):
    return struct.unpack(form, struct.pack("<I", bits)[:struct.calcsize(form)])[0]


def _halves(bits, half):
    """The two numbers of 16 bits in a word."""
    halves = bits & 0xFFFF, bits >> 16
    return [_unpacked("<f", each << 16) if half == "b" else _unpacked("<e", each) for each in halves]


def _may_be_pair(word, half):
    """Whether a word of 4 bytes may be two numbers of 16 bits. If it is one number of 32 bits, the
    lower half's exponent is arbitrary."""
    least, most = _USUAL[half]
    return all(number == 0 or least <= abs(number) <= most for number in _halves(word, half))


def _are_pairs(bits, other, half):
    """Whether two words that differ have the same lower half, not 0. For numbers of 32 bits that is
    unlikely, so each word is two numbers of 16 bits."""
    return bits != other and bits & 0xFFFF == other & 0xFFFF != 0 and _may_be_pair(bits, half) and _may_be_pair(other, half)


def _hold_pairs(words, half):
    """Whether these words are two numbers of 16 bits each; None if there are too few to decide."""
    words = {word for word in words if word & 0xFFFF}
    return sum(_may_be_pair(word, half) for word in words) >= _MOST_ARE * len(words) if len(words) >= _FEWEST_WORDS else None


def _near(a, b, scale):
    return a == b or math.isfinite(a) and math.isfinite(b) and abs(a - b) <= scale


def _same(touch, other, largest, half):
    """Whether the two hold nearly the same number; 4 bytes or more may be two of 16 bits. `largest`
    is the largest number of our array."""
    a, b, size = touch.number(half), other.number(half), touch.kind["bytes"]
    tolerance = _TOLERANCE[half if size == 2 else "f"]
    if _near(a, b, tolerance * (max(abs(a), abs(b)) + 1e-3 * largest)):
        return True
    return size >= 4 and all(_near(a, b, _TOLERANCE[half] * max(abs(a), abs(b))) for a, b in zip(_halves(touch.bits, half), _halves(other.bits, half)))


class _Launch:
    """One launch of a kernel by element: its stores and loads. An element is (array's name, block,
    element); the block matters only in shared memory, and in `read`."""

    def __init__(self, trail, number):
        self.trail, self.number, self.rows = trail, number, trail.launch(number)
        self.names = [each["name"] for each in trail.arrays]
        self._shared = [each["shared"] for each in trail.arrays]
        self.touched = {self.names[which] for which in {row[5] for row in self.rows}}

    def key(self, row):
        which = row[5]
        return (self.names[which], row[2] if self._shared[which] else None, row[6])

    def shared_names(self):
        return {name for name, shared in zip(self.names, self._shared) if shared}

    def element(self, row):
        """The element of a row, which is a word of 4 bytes and may be a part of it."""
        return self.names[row[5]], row[6] // max(1, self.trail.arrays[row[5]]["bytes"] // 4)

    # There are hundreds of thousands of rows, so nothing is sorted before it is needed.
    @cached_property
    def last(self):
        # the order of additions changes all sums but the last
        return {self.key(row): row for row in self.rows if row[0] == _ATOMIC}

    @cached_property
    def stored(self):
        stored, names, shared = {}, self.names, self._shared
        for row in self.rows:
            if row[0] == _STORE:
                stored.setdefault((names[row[5]], row[2] if shared[row[5]] else None, row[6]), []).append(row)
        for key, row in self.last.items():
            stored.setdefault(key, []).append(row)
        return stored

    @cached_property
    def read(self):
        names = self.names
        return {(names[row[5]], row[2], row[6]): row for row in reversed(self.rows) if row[0] == _LOAD}

    @cached_property
    def elements_read(self):
        return {(name, element) for name, _, element in self.read}

    def read_by(self, block):
        """The elements that one block loads, in the order of its run."""
        return {(self.names[row[5]], row[6]): row for row in self.rows if row[0] == _LOAD and row[2] == block}

    def stored_at(self, key):
        return [Touch(self.trail, row) for row in self.stored.get(key, ())]

    def has_stored(self, touch, key, half):
        if any(row[7] == touch.bits for row in self.stored.get(key, ())):
            return True
        return any(_same(touch, other, self._largest(key[0], half), half) for other in self.stored_at(key))

    @cache
    def _largest(self, name, half):
        rows = [row for key, rows in self.stored.items() if key[0] == name for row in rows]
        if self.trail.arrays[rows[0][5]]["bytes"] >= 4:  # converts all at once
            numbers = array("f", array("I", (row[7] & 0xFFFFFFFF for row in rows)).tobytes())
        else:
            numbers = [Touch(self.trail, row).number(half) for row in rows]
        return max((abs(number) for number in numbers if math.isfinite(number)), default=0)


def _first_of(yours, ours, alike, half):
    """The first row whose element only `yours` loads, and the first whose value only it stores, or
    None. `alike`: whether the two launches have the same blocks."""
    stray = None
    for row in yours.rows:
        key = yours.key(row)
        if key[0] not in ours.touched or key[1] is not None and not alike:
            continue
        if row[0] == _LOAD:
            if stray is None and ((key[0], row[2], key[2]) not in ours.read if alike else (key[0], key[2]) not in ours.elements_read):
                stray = row
        elif (row[0] == _STORE or yours.last[key] is row) and not ours.has_stored(Touch(yours.trail, row), key, half):
            return stray, row
    return stray, None


def _format(launch):
    """The format of 2-byte numbers in this launch: bf16 if nearly all have usual sizes when read as
    bf16, otherwise fp16."""
    least, most = 2.0 ** -12, 2.0 ** 8
    numbers = {row[7] for row in launch.rows if launch.trail.arrays[row[5]]["bytes"] == 2 and row[7] & 0x7FFF}
    usual = sum(least <= abs(_unpacked("<f", bits << 16)) <= most for bits in numbers)
    return "b" if len(numbers) < _FEWEST_WORDS or usual >= _MOST_ARE * len(numbers) else "e"


def first_wrong(yours, ours, half=None, stopped=False):
    """Sentences about the first value that only `yours` stores and the first element that only it
    loads, and the touch that they describe; [] and None if there is neither. `half` is the format
    of 2 bytes, "e" (fp16) or "b" (bf16), if known. `stopped`: an error ended yours, so missing
    stores mean nothing."""
    for number in range(min(len(yours.launches), len(ours.launches))):
        if not (yours.is_whole(number) and ours.is_whole(number)):
            break
        if yours.launches[number] == ours.launches[number] and yours.does_the_same(ours, number):
            continue
        mine, right = _Launch(yours, number), _Launch(ours, number)
        alike = yours.launches[number] == ours.launches[number]
        half = half or _format(right)
        stray, wrong = _first_of(mine, right, alike, half)
        said = []
        if stray is not None and (wrong is None or stray[2] == wrong[2]):
            touch = Touch(yours, stray)
            said.append(f"First element that only your {'block' if alike else 'kernel'} reads: {touch.name()} at {touch.where()}.")
        if wrong is not None:
            touch = Touch(yours, wrong)
            beside = right.stored_at(mine.key(wrong))
            is_pair, *are_pairs = _pairs_among([touch, *beside], (mine, right), half)
            others = list(dict.fromkeys(other.text(half, pair) for other, pair in zip(beside, are_pairs)))
            # a first 0 only clears the element
            others = others[len(others) > 1 and others[0] == "0":]
            ours_is = ("our kernel stores nothing there" if not others else f"ours stores {others[0]}" if len(others) == 1
                       else f"ours stores {', '.join(others[:3])}{', ...' if len(others) > 3 else ''} there, in this order")
            if touch.operation == _ATOMIC:
                said.append(f"First difference from our kernel: the atomics add up to {touch.text(half, is_pair)} in {touch.name()}; {ours_is}. "
                            f"The last one is at {touch.where()}.")
            else:
                said.append(f"First difference from our kernel: {touch.name()} = {touch.text(half, is_pair)} at {touch.where()}; {ours_is}.{touch.code()}")
            if stray is None:
                said += _moved(mine, right, wrong, half) or _taken(mine, right, wrong) or list(filter(None, [_unread(mine, right, wrong, half)] if alike and not stopped else []))
        elif stray is None and not stopped:
            said += _unwritten(mine, right)
        if said:
            found = wrong or stray
            # the sentences are about this launch; another one may store what is missing here
            if (count := max(len(yours.launches), len(ours.launches))) > 1:
                said.insert(0, f"In launch {number + 1} of {count}, {yours.kernels[number]}:")
            return said, found and Touch(yours, found)
    return [], None


def _pairs_among(touches, launches, half):
    """Which of these touches of one word, the first of one kernel and the others of ours, are two
    numbers of 16 bits. Most words that their line stores decide; if these are few, the other
    touches do."""
    first, *others = touches
    if first.kind["bytes"] < 4:
        return [False] * len(touches)

    @cache
    def line(launch, place):
        return _hold_pairs([row[7] & 0xFFFFFFFF for row in launch.rows if row[0] == _STORE and row[4] == place], half)

    known = [line(launches[touch is not first], touch.place) for touch in touches]
    some = any(known) or any(_are_pairs(first.bits & 0xFFFFFFFF, other.bits & 0xFFFFFFFF, half) for other in others[:1])
    return [some and _may_be_pair(touch.bits & 0xFFFFFFFF, half) if its is None else its for touch, its in zip(touches, known)]


def _moved(mine, right, wrong, half):
    """A sentence if most of the differing values of this array are values that ours stores at other
    elements."""
    touch, (name, block, _) = Touch(mine.trail, wrong), mine.key(wrong)
    if touch.kind["bytes"] < 4:
        return []  # many 16-bit numbers are equal by chance
    # An element that is stored repeatedly has turns, and values are compared within a turn.
    places = {(turn, row[7]): row for key, rows in right.stored.items() if key[:2] == (name, block) for turn, row in enumerate(rows)}
    differ = islice(((len(rows) - 1, rows[-1]) for key, rows in mine.stored.items()
                     if key[:2] == (name, block) and not right.has_stored(Touch(mine.trail, rows[-1]), key, half)), _MOST_MOVED)
    differ = [(turn, row) for turn, row in differ if row[7]]  # zeros are everywhere
    moved = [(turn, row) for turn, row in differ if (turn, row[7]) in places]
    if len({row[7] for _, row in moved}) < _FEWEST_MOVED or 4 * len(moved) < 3 * len(differ):
        return []
    of_wrong = (mine.stored[mine.key(wrong)].index(wrong), wrong)
    turn, one = of_wrong if of_wrong in moved else moved[0]
    of = "this value" if one is wrong else f"your value of {Touch(mine.trail, one).name()}"
    return [f"Ours stores {of} in {Touch(right.trail, places[turn, one[7]]).name()}, and most values of {name} that differ are right "
            "at another element, too. An index, a condition or the order of lines may be wrong, or a step may be missing."]


def _lanes(launch, row):
    """The values that each lane of this row's warp took from other lanes before: {lane: [(source,
    place)]}; and how often each lane's value is in that row's value, if a lane adds whatever it
    takes. None instead if lanes have diverged."""
    trail, block, thread = launch.trail, row[2], row[3]
    at, takes = trail.at(row), {}
    for number, its_block, its_thread, place, source, after in trail.takes:
        if (number, its_block, its_thread // 32) == (row[1], block, thread // 32) and after <= at:
            takes.setdefault(its_thread % 32, []).append((source, place))
    own = takes.get(thread % 32, [])
    made = {lane: Counter([lane]) for lane in takes}
    if len(own) > _MOST_TAKES ** 2 or any(len(each) < len(own) for each in takes.values()) or any(source not in takes for each in takes.values() for source, _ in each):
        return takes, None
    for step in range(len(own)):
        made = {lane: made[lane] + made[each[step][0]] for lane, each in takes.items()}
    return takes, made.get(thread % 32)


def _taken(mine, right, wrong):
    """A sentence about the lanes whose values came to this value by shuffles, if they differ from
    our kernel's."""
    if not all(launch.trail.has_takes(launch.number) for launch in (mine, right)):
        return []
    stores, ours = (launch.stored.get(mine.key(wrong), []) for launch in (mine, right))
    # an element that is stored again has turns
    theirs = ours[stores.index(wrong)] if len(ours) == len(stores) and wrong in stores else None
    if theirs is None or theirs[3] % 32 != wrong[3] % 32:
        return []
    (mine_take, made), (ours_take, right_made) = _lanes(mine, wrong), _lanes(right, theirs)
    own, taken = (takes.get(wrong[3] % 32, []) for takes in (mine_take, ours_take))
    if made == right_made and (made is not None or len(own) == len(taken)):
        return []
    if len(own) < len(taken) and len({place for _, place in own}) == len({place for _, place in taken}):
        return []  # the same shuffles in a loop with fewer iterations
    if len(own) < len(taken):
        counts = f"{len(taken)} shuffle{'s' if len(taken) != 1 else ''}, yours {len(own) or 'none'}"
        return [f"Before this store our thread makes {counts}. Is a reduction over the lanes missing?"]
    # The row's own lane comes first. Its shuffles may equal ours while other lanes' do not.
    for lane in (wrong[3] % 32, *sorted(mine_take)):
        own, taken = mine_take.get(lane, []), ours_take.get(lane, [])
        lanes = [", ".join(str(source) for source, _ in each) for each in (own, taken)]
        if lanes[0] != lanes[1]:
            break
    else:
        return []
    if len(own) > _MOST_TAKES:
        return []
    # for some calls the compiler keeps only this place
    launched = mine.trail.places[wrong[4]][1:][-1:]
    lines = ", ".join(dict.fromkeys(Touch.line(mine.trail, place) for _, place in own if mine.trail.places[place] != launched))
    return [f"Before this store, lane {lane} reads lanes {lanes[0]} by shuffles{f' at {lines}' if lines else ''}; ours reads {f'lanes {lanes[1]}' if taken else 'none'}."]


def _other_input(mine, right, block, half):
    """A sentence about the first element that this block loads, that no thread stores, and that had
    another value before our launch."""
    ours = right.read_by(block)
    for key, row in mine.read_by(block).items():
        stored = any((key[0], its_block, key[1]) in launch.stored for launch in (mine, right) for its_block in (None, block))
        if not stored and key in ours and ours[key][7] != row[7]:
            touch, other = Touch(mine.trail, row), Touch(right.trail, ours[key])
            copied = "Check what is copied there." if touch.kind["shared"] else f"Was something else copied to {key[0]} before the launch?"
            return f"It reads {touch.name()} = {touch.text(half)}, which is {other.text(half)} in ours, and no thread stores there. {copied}"
    return ""


def _read_by_another_thread(mine, right, wrong):
    """A sentence about the first element that the wrong value's thread loaded but does not load in
    ours; "" if another thread stores that value in ours, or if the arrays' layouts differ."""
    ours = right.stored.get(mine.key(wrong), [])
    kinds = [sorted((each["name"], each["axes"], each["bytes"]) for each in launch.trail.arrays if each["shared"]) for launch in (mine, right)]
    if kinds[0] != kinds[1] or wrong[2:4] not in {row[2:4] for row in ours}:
        return ""
    known, own = ({launch.key(row) for row in launch.rows if row[0] == _LOAD and row[2:4] == wrong[2:4]} for launch in (right, mine))
    # If memory holds several arrays, the compiler may load wider vectors in one of the two kernels,
    # but not in each of them more than in the other.
    both_differ = not known <= own
    for row in mine.rows:
        if row is wrong:
            break
        touch = Touch(mine.trail, row)
        if row[0] == _LOAD and row[2:4] == wrong[2:4] and mine.key(row) not in known and (both_differ or touch.kind["bytes"] <= 4):
            return f"Your block reads every element that ours reads, but not in the same threads. This one reads {touch.name()} at {Touch.line(mine.trail, touch.place)}, which it does not in ours."
    return ""


def _unread(mine, right, wrong, half):
    """A sentence about the elements that our block loads and the wrong value's block does not, or
    ""."""
    block = wrong[2]
    yours = mine.read_by(block)
    here, there = mine.shared_names(), right.shared_names()
    renamed = there - here if here - there else set()
    missed = [row for key, row in right.read_by(block).items()
              if key not in yours and key[0] not in renamed]
    if not missed:
        return _other_input(mine, right, block, half) or _read_by_another_thread(mine, right, wrong)
    # The compiler keeps a value that a thread has just stored in a register and does not load it
    # again. If that may be true for a whole array, its missing loads mean nothing. The trail keeps
    # one reader per element, so we do not know whether other threads had to load it.
    stored = {(right.names[row[5]], row[6]) for row in missed if any(other[2:4] == row[2:4] for other in mine.stored.get(right.key(row), ()))}
    tell = {right.names[row[5]] for row in missed if (right.names[row[5]], row[6]) not in stored}
    told = [row for row in missed if right.names[row[5]] in tell] or missed
    elements = dict.fromkeys(map(right.element, told))
    counts = Counter(name for name, _ in elements)
    them = "it" if len(elements) == 1 else "them"
    kept = len(elements.keys() - {right.element(row) for row in told if (right.names[row[5]], row[6]) not in stored})
    one = "one of them, which its thread stored itself and may have in a register"
    does_not = ("does not, except perhaps " + (one if kept == 1 else f"{kept} of them, which their threads stored themselves and may have in registers")
                if kept else "does not")
    return (f"Our block also reads {' and '.join(_elements(count, name) for name, count in counts.items())}"
            f" (the first is {Touch(right.trail, told[0]).name()}); "
            f"yours {does_not if tell else f'overwrites {them} before it reads {them}, or does not read {them}'}.")


def _unwritten(mine, right):
    """Sentences about the elements of global arrays that only our kernel stores, and about where
    the first one's thread ends in the learner's kernel."""
    missed = [key for key in right.stored if key not in mine.stored and key[1] is None]
    counts = Counter(name for name, _ in dict.fromkeys(right.element(right.stored[key][0]) for key in missed))
    said = [f"Yours does not store {_elements(count, name)} that ours stores." for name, count in counts.items()]
    if missed and mine.trail.launches[mine.number] == right.trail.launches[right.number]:
        touch = right.stored_at(missed[0])[0]
        end = _end_of(mine.trail, (mine.number, touch.block, touch.thread))
        if end is not None:
            said.append(f"In ours {touch.who()} stores {touch.name()}; in yours the last lines that this thread executes begin at {Touch.line(mine.trail, end)}.")
    return said


def _end_of(trail, thread):
    """The place where the thread ended. If several returns share code, it has the first one's line;
    then the previous place."""
    ends = [end for end in trail.ends.get(thread, ()) if end < len(trail.places)]
    lines = [trail.places[end][0].rpartition(":") for end in ends]
    if not lines or lines[0][0].startswith("/"):
        return None
    goes_back = len(lines) > 1 and lines[1][0] == lines[0][0] and int(lines[1][2]) > int(lines[0][2])
    return ends[goes_back]


def _elements(count, name):
    return f"{count} element{'s' if count > 1 else ''} of {name}"
