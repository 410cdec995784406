"""Draws the picture of chapter 08's lesson 20."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, Drawing

COLOURS = [BLUE, "#d9ead3", "#fce5cd", "#ead1dc"]
KEYS, SPLITS, D, GROUP, WARPS, STAGE_KEYS = 32768, 4, 128, 4, 4, 16
# an example: m, l and one channel of acc of each split
PARTS = ((2, 8, 16), (5, 2, 4), (3, 4, -8), (4, 2, 6))


def number(x):
    return f"{x:g}".replace("-", "\u2212")


def splits():
    d = Drawing(900, 606)
    d.text(20, 26, f"One key head, {KEYS} keys, one query for each of its {GROUP} query heads: four splits, then a merge", 15, "start", bold=True)
    left, wide, mine = 206, 168, KEYS // SPLITS
    x = [left + wide * n for n in range(SPLITS)]

    d.text(20, 84, "k and v", 13, "start", bold=True)
    d.text(20, 102, "of the head, in memory", 11.5, "start", NOTE)
    for n in range(SPLITS):
        d.text(x[n] + wide / 2, 56, f"keys {n * mine} to {(n + 1) * mine - 1}", 12)
        for row, name in enumerate("kv"):
            d.box(x[n], 64 + 24 * row, wide, 22, COLOURS[n], INK, 1)
            d.text(x[n] + wide / 2, 80 + 24 * row, name, 12.5)
        d.line([(x[n] + wide / 2, 112), (x[n] + wide / 2, 148)], INK, 1.5, arrow=True)

    d.text(20, 168, "Kernel 1: attend", 13, "start", bold=True)
    d.text(20, 186,
           f"one block per split.\nEach computes all {GROUP} query\nheads of the group in {GROUP} "
           "of\n16 rows. The other rows\nare zeros.", 11.5, "start", NOTE)
    for n in range(SPLITS):
        d.box(x[n] + 4, 152, wide - 8, 116, LIGHT, INK, 1)
        d.text(x[n] + wide / 2, 170, f"block {n}", 13, bold=True)
        for cell in range(8):
            cx = x[n] + 14 + 16 * cell
            d.box(cx, 180, 16, 22, COLOURS[n], GREY, 0.8)
            d.text(cx + 8, 195, str(cell % WARPS), 11.5)
        d.text(x[n] + 146, 195, "...", 13, "start")
        d.text(x[n] + wide / 2, 219, f"{STAGE_KEYS} keys per stage, and\nthe warp that computes it",
               11.5, colour=NOTE)
        d.text(x[n] + wide / 2, 256, "4 warps: one merge", 12, colour=DARK_BLUE)
        d.line([(x[n] + wide / 2, 268), (x[n] + wide / 2, 304)], INK, 1.5, arrow=True)

    d.text(20, 322, "Partial results", 13, "start", bold=True)
    d.text(20, 340, "in memory, fp32.\nHere: one query of one\nhead, one channel", 11.5, "start", NOTE)
    for n, (m, l, acc) in enumerate(PARTS):
        d.box(x[n] + 4, 308, wide - 8, 66, COLOURS[n], INK, 1)
        for row, words in enumerate((f"m{n} = {number(m)}", f"l{n} = {number(l)}", f"acc{n} = {number(acc)}")):
            d.text(x[n] + wide / 2, 326 + 19 * row, words, 13)
        d.line([(x[n] + wide / 2, 374), (x[n] + wide / 2, 406)], INK, 1.5, arrow=True)

    most = max(m for m, _, _ in PARTS)
    factors = [2.0 ** (m - most) for m, _, _ in PARTS]
    l = sum(f * part[1] for f, part in zip(factors, PARTS))
    acc = sum(f * part[2] for f, part in zip(factors, PARTS))
    d.text(20, 424, "Kernel 2: merge_splits", 13, "start", bold=True)
    d.text(20, 442,
           f"m = largest = {number(most)}.\nEach split is multiplied by\nthe factor 2^(m_i \u2212 "
           "m).\nOne block per query\nof one head.", 11.5, "start", NOTE)
    d.box(left + 4, 410, wide * SPLITS - 8, 106, LIGHT, INK, 1)
    for n, (m, li, ai) in enumerate(PARTS):
        factor = f"1/{round(1 / factors[n])}" if factors[n] < 1 else "1"
        middle = x[n] + wide / 2
        d.text(middle, 430, f"2^({m} \u2212 {most}) = {factor}", 13)
        d.text(middle, 456, f"{factor} * l{n} = {number(factors[n] * li)}", 13)
        d.text(middle, 482, f"{factor} * acc{n} = {number(factors[n] * ai)}", 13)
        if n + 1 < SPLITS:
            for y in (456, 482):
                d.text(x[n + 1], y, "+", 14, bold=True, colour=GREEN)
    for n, words in enumerate((f"l = {number(l)}", f"acc = {number(acc)}", f"o = acc / l = {number(acc / l)}")):
        d.text(left + wide * (n + 1), 506, words, 14, colour=GREEN, bold=True)

    read, kept = mine * D * 2 * 2, GROUP * (D + 2) * 4
    d.text(20, 548,
           f"A block reads {mine} keys and values of {D} channels in 16 bits: {read / 2**20:g} "
           "MiB.\n"
           f"It stores {D} channels of acc, m and l in 32 bits for each of {GROUP} heads: {kept} "
           "bytes.\n"
           "The second kernel reads only these.", 12.5, "start")
    d.save("flash_splits.svg")


splits()
