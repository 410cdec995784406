"""Draws the pictures of chapter 08's lessons 10, 11 and 15 beside this script.
usage: python3 docs/figures/flash_hopper.py"""
from drawing import BLUE, DARK_BLUE, GREY, INK, LIGHT, NOTE, ORANGE, PALE, RED, Drawing

STEP = 1  # the second product of a tile: terms 16 to 31


def bracket(d, x, top, bottom, words, colour=DARK_BLUE):
    """A bracket to the right of x."""
    d.line([(x, top), (x + 7, top), (x + 7, bottom), (x, bottom)], colour, 1.4)
    d.text(x + 13, (top + bottom) / 2 + 4, words, 12, "start", colour)


def descriptor():
    """A 64 x 16 block of q and a 16 x 128 block of v in swizzled panels, with descriptors."""
    d = Drawing(900, 616)
    d.text(20, 28, "Q, columns 16 to 31: Major::kK", 14.5, "start", bold=True)
    left, top, wide, high = 66, 76, 38, 24
    d.text(left + 4 * wide, top - 22, "one row of a panel: 64 columns, 128 bytes, 8 vectors", 12,
           colour=NOTE)
    for place in range(8):
        d.text(left + wide * (place + 0.5), top - 6, str(place), 10.5, colour=NOTE)
    d.text(left - 8, top - 6, "slot", 10.5, "end", NOTE)
    for row in range(8):
        d.text(left - 8, top + high * (row + 0.7), f"row {row}", 11, "end")
        for place in range(8):
            unit = place ^ row
            mine = unit // 2 == STEP
            d.box(left + wide * place, top + high * row, wide, high, ORANGE if mine else "white", GREY, 0.7)
            d.text(left + wide * (place + 0.5), top + high * (row + 0.7), f"u{unit}", 11.5, bold=mine, colour=INK if mine else GREY)
    d.box(left + wide * 2, top, wide, high, "none", RED, 2.4)
    bracket(d, left + 8 * wide + 4, top, top + 8 * high, "8 rows:\n1,024 bytes")
    y = top + 8 * high + 22
    d.text(left, y,
           "Then the same again: 64 rows are eight times 8 rows.\nRed: where the block begins, 32 "
           "bytes after the panel's beginning.", 12, "start")

    x0 = 492
    d.text(x0, 28, "V, keys 16 to 31: Major::kMN", 14.5, "start", bold=True)
    for panel in range(2):
        x = x0 + 52 + 140 * panel
        d.text(x + 55, top - 6, f"panel {panel}", 12, colour=NOTE)
        for block in range(8):
            mine = block == STEP
            d.box(x, top + high * block, 110, high, ORANGE if mine else "white", GREY, 0.7)
            d.text(x + 55, top + high * (block + 0.7), f"channels {64 * panel} to {64 * panel + 63}", 10.5, colour=INK if mine else GREY, bold=mine)
    for block in range(0, 8):
        d.text(x0 + 46, top + high * (block + 0.7), f"{16 * block}-{16 * block + 15}", 10.5, "end", INK if block == STEP else GREY)
    d.text(x0 + 46, top - 6, "keys", 10.5, "end", NOTE)
    d.box(x0 + 52, top + high, 20, 9, "none", RED, 2.4)
    bracket(d, x0 + 52 + 254, top + high, top + 2 * high, "16 keys:\n2,048 bytes")
    d.line([(x0 + 56, top + 8 * high + 8), (x0 + 192, top + 8 * high + 8)], DARK_BLUE, 1.6, arrow=True)
    d.text(x0 + 124, top + 8 * high + 24, "128 rows of 128 bytes: 16,384 bytes", 12, colour=DARK_BLUE)
    d.text(x0, y + 26, "The vectors are swizzled here, too, but not drawn.", 12, "start")

    y = 366
    d.line([(20, y - 16), (880, y - 16)], GREY, 0.8)
    d.text(20, y + 10, "Their descriptors: 64 bits each, all lengths in multiples of 16 bytes",
           14.5, "start", bold=True)
    names = ("bits", "meaning", "Q, columns 16 to 31", "V, keys 16 to 31")
    edges = (20, 130, 440, 660, 880)
    rows = (("0 to 13", "where the block begins", "panel + 32 bytes: + 2",
             "panel 0 + 2,048 bytes: + 128"), ("16 to 29", "from one panel to the next",
                                               "one panel: ignored", "16,384 bytes: 1,024"),
            ("32 to 45", "from 8 rows to the next 8 rows", "1,024 bytes: 64", "1,024 bytes: 64"),
            ("62 and 63", "how vectors are swizzled in rows of 128 bytes", "1", "1"))
    top, high = y + 26, 30
    for number, row in enumerate((names, *rows)):
        for column, words in enumerate(row):
            x, width = edges[column], edges[column + 1] - edges[column]
            d.box(x, top + high * number, width, high, LIGHT if number == 0 else "white", GREY, 0.7)
            d.text(x + 8, top + high * (number + 0.65), words, 12, "start", bold=number == 0)
    y = top + 5 * high + 26
    d.text(20, y, "The next 16 terms of the sum: advance() adds to bits 0 to 13 only.\n"
           "Q and K: 32 bytes, kNextK, inside of the row. After four steps comes the next "
           "panel, with a descriptor of its own.\n"
           "V: 16 rows of 128 bytes, kNextMN. One MMA computes all 64 or 128 channels, so its "
           "descriptor covers the panels.", 12.5, "start")
    d.save("flash_descriptor.svg")


def phases():
    """Two stages of a ring, their barriers' phases, and the warpgroups' waits."""
    d = Drawing(900, 590)
    d.text(20, 28,
           "A ring of two stages, D = 128. Tile t goes to stage t % 2, in its barrier's phase t / "
           "2, of parity t / 2 % 2", 14, "start", bold=True)
    left, step, tiles = 222, 146, 5
    stop = left + step * 4.5

    def at(time):
        return left + step * time

    # The copies of tile t start when tile t - 1 begins, and are complete shortly before its turn.
    asked = [-0.5] + [t - 1 - 0.02 for t in range(1, tiles)]
    here = [-0.04] + [t - 0.16 for t in range(1, tiles)]
    d.text(20, 76, "thread 0 starts\na tile's copies", 12.5, "start")
    for t in range(tiles):
        d.box(at(asked[t]), 60, 58, 30, PALE[1])
        d.text(at(asked[t]) + 29, 80, f"tile {t}", 12)
    for stage in range(2):
        y = 112 + 156 * stage
        for down, words in ((27, f"stage {stage}"), (60, "missing"), (93, f"full[{stage}]")):
            d.text(20, y + down, words, 12.5, "start")
        begin, mine = at(-0.6), [t for t in range(tiles) if t % 2 == stage]
        for phase, t in enumerate([*mine, None]):
            till = at(here[t]) if t is not None else stop
            d.box(begin, y + 76, till - begin, 26, PALE[2 + phase % 2], INK, 0.9)
            d.text((begin + till) / 2, y + 93, f"phase {phase}, parity {phase % 2}" if till - begin > 100 else f"phase {phase}", 11.5)
            come = at(asked[t]) if t is not None else stop
            if come - begin > 60:
                d.text((begin + come) / 2, y + 62, "2 arrivals", 11.5, colour=NOTE)
            if t is None:
                break
            d.box(come, y + 10, till - come, 24, "white", GREY, 0.8)
            d.text((come + till) / 2, y + 27, "in flight", 11.5, colour=NOTE)
            used = min(at(t + 0.98), stop)
            d.box(till, y + 10, used - till, 24, PALE[0])
            d.text((till + used) / 2, y + 27, f"tile {t} is full", 11.5)
            d.polygon([(come, y + 70), (come, y + 42), (till, y + 70)], BLUE)
            d.text(come + 4, y + 67, "64 KB", 10.5, "start")
            d.line([(till, y + 4), (till, y + 108)], RED, 1.6, "4 3")
            begin = till
    y = 444
    d.text(20, y + 10, "all warpgroups", 12.5, "start")
    for t in range(tiles):
        till = min(at(t + 0.96), stop)
        d.box(at(t), y - 8, till - at(t), 28, PALE[1])
        d.text((at(t) + till) / 2, y + 11,
               f"MMAs of tile {t}" if till - at(t) > 110 else f"tile {t}", 11.5)
        d.text(at(t) if t < tiles - 1 else stop, y + 40, f"wait(full[{t % 2}], {t // 2 % 2})", 11.5, "start" if t < tiles - 1 else "end", DARK_BLUE)
    d.text(20, 520,
           "Red: a phase completes, and the next one begins. Both arrivals, for the bytes of K and "
           "those of V, have happened, and no byte is missing.\n"
           "wait(full[s], p) returns when the phase of parity p is complete, which means that the "
           "barrier is in a phase of the other parity.\n"
           "A stage is refilled only after a __syncthreads, when no thread reads it any more. "
           "Times are not to scale.", 12, "start")
    d.save("flash_phases.svg")


def factory():
    """Lesson 15: a producer thread fills a ring of tiles, consumers multiply, and both signal
    through barriers."""
    d = Drawing(900, 400)

    def part(x, y, width, words, colour, height=34):
        d.box(x, y, width, height, colour)
        d.text(x + width / 2, y + height / 2 + 5, words, 12.5)

    d.text(20, 28, "producer: one thread,\n24 or 32 registers", 14, "start", bold=True)
    d.text(330, 28, "shared memory", 14, "start", bold=True)
    d.text(560, 28, "consumers: 2 or 3 warpgroups,\n64 queries each; 240 or 160 registers", 14, "start", bold=True)
    part(20, 74, 200, "work queue: head, queries", "white")
    for y, name in ((124, "q"), (186, "k"), (248, "v")):
        part(20, y, 200, f"TMA: a box of {name}", PALE[1])
    part(330, 124, 150, "q", BLUE)
    for y, name in ((186, "k"), (248, "v")):
        part(330, y, 70, f"{name} 0", BLUE)
        part(410, y, 70, f"{name} 1", BLUE)
    for y in (141, 203, 265):
        d.line([(222, y), (326, y)], arrow=True)
        d.line([(482, y), (556, y)] if y != 203 else [(482, y), (520, y), (520, 151), (556, 151)], arrow=True)
    d.line([(120, 110), (120, 122)], arrow=True)
    part(560, 124, 320, "S = q k^T: both operands from shared memory", "white")
    part(560, 186, 320, "P = exp2(S - m), and l, m: in registers", PALE[2])
    part(560, 248, 320, "O += P v: P from registers, v transposed", "white")
    part(560, 310, 320, "O / l and lse: 16-byte stores", "white")
    for y in (160, 222, 284):
        d.line([(720, y), (720, y + 24)], arrow=True)
    d.line([(405, 284), (405, 332), (120, 332), (120, 286)], RED, 1.8, arrow=True)
    d.text(132, 326, "empty: all consumers have read the stage", 12.5, "start", RED)
    d.text(226, 180, "full: a copy is complete", 12.5, "start", RED)
    d.text(20, 382,
           "k and v have a ring of two stages each: one is multiplied while the other is copied.",
           12, "start", NOTE)
    d.save("flash_factory.svg")


for draw in (descriptor, phases, factory):
    draw()
