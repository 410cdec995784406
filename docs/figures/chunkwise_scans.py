"""Draws the pictures of prefix sums and of what is summed before and behind them. usage: python3 docs/figures/chunkwise_scans.py"""
from itertools import accumulate

from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, ORANGE, RED, Drawing

NOTE = "#666666"
PALE = ["#cfe2f3", "#d9ead3", "#fce5cd", "#ead1dc"]


def prefix_sum_carry():
    """Prefix sums in chunks: which thread adds what, and what a chunk hands to the next."""
    x, chunk = list(range(12)), 4
    chunks = [x[i:i + chunk] for i in range(0, len(x), chunk)]
    local = [list(accumulate(part)) for part in chunks]
    carry = [0, *accumulate(part[-1] for part in local[:-1])]
    d = Drawing(900, 440)
    left, cell, pitch = 190, 40, 196

    def row(y, name, parts, note):
        d.text(left - 16, y + 16, name, 14, "end", bold=True)
        d.text(left - 16, y + 33, note, 12, "end", NOTE)
        for i, part in enumerate(parts):
            for j, value in enumerate(part):
                d.box(left + pitch * i + cell * j, y, cell, cell, PALE[i])
                d.text(left + pitch * i + cell * (j + 0.5), y + 26, str(value), 15)

    row(34, "x", chunks, "in chunks of 4")
    for i in range(3):
        at = left + pitch * i
        d.text(at + 2 * cell, 22, f"chunk {i}", 13, colour=NOTE)
        d.line([(at + cell / 2, 96), (at + 3.6 * cell, 96)], DARK_BLUE, 1.6, arrow=True)
        d.text(at + 2 * cell, 90, f"thread {i}", 12, colour=DARK_BLUE)
    row(106, "1. local sums", local, "one thread for each chunk")
    d.text(left + 3 * pitch + 4, 131, "4 additions,\none after another", 12, "start", NOTE)

    y = 220
    d.text(left - 16, y + 16, "2. carry", 14, "end", bold=True)
    d.text(left - 16, y + 33, "one thread", 12, "end", NOTE)
    for i, value in enumerate(carry):
        at = left + pitch * i
        d.box(at, y, cell, cell, "white", INK, 2)
        d.text(at + cell / 2, y + 26, str(value), 15)
        if i < 2:
            d.box(at + 3 * cell, 106, cell, cell, "none", RED, 3)
            d.line([(at + 3.5 * cell, 148), (at + pitch - 28, y + 13)], RED, 1.8, arrow=True)
            d.line([(at + cell + 2, y + 22), (at + pitch - 3, y + 22)], DARK_BLUE, 1.8, arrow=True)
            d.text(at + 2.4 * cell, y + 38, f"{value} + {local[i][-1]}", 13, colour=DARK_BLUE)
    d.text(left + 3 * pitch + 4, y + 12, "one addition\nfor each chunk\nbut the last", 12, "start", NOTE)

    for i, value in enumerate(carry):
        at = left + pitch * i
        for j in range(chunk):
            d.line([(at + cell / 2, y + cell + 3), (at + cell * (j + 0.5), 316)], GREY, 1, arrow=True)
    row(320, "3. adjusted", [[value + before for value in part] for part, before in zip(local, carry)], "one thread for each element")
    d.text(left + 3 * pitch + 4, 345, "one addition", 12, "start", NOTE)
    d.text(20, 392, "Red: the last local sum of a chunk is the sum of the whole chunk. It is all that the chunk hands on. The last chunk hands on nothing.\n"
           "The carry of chunk 2 is 6 + 22 = 28: the sum of all chunks before it, and not of chunk 1 alone.", 13, "start")
    d.save("chunkwise_carry.svg")


prefix_sum_carry()
