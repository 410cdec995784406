"""Draws the pictures of chapter 08's lessons 05a to 05c."""
from drawing import DARK_BLUE, GREEN, GREY, INK, NOTE, PALE, RED, Drawing

SHOWN = 6  # the lane in red


def grid(d, left, top, cell, name, pairs):
    """16 x 16 elements of a tile. Pairs are (lane, register, row, column, whether the second is to
    the right)."""
    d.text(left, top - 24, name, 13, "start", bold=True)
    for i in range(16):
        d.text(left + cell * (i + 0.5), top - 6, str(i), 9.5, colour=NOTE)
        d.text(left - 6, top + cell * (i + 0.5) + 4, str(i), 9.5, "end", NOTE)
    for lane, register, row, column, right in pairs:
        width, height = (2, 1) if right else (1, 2)
        d.box(left + cell * column, top + cell * row, cell * width, cell * height, PALE[register], GREY, 0.7)
        d.text(left + cell * (column + width / 2), top + cell * (row + height / 2) + 4, str(lane), 10, bold=lane == SHOWN, colour=RED if lane == SHOWN else INK)
    for lane, register, row, column, right in pairs:
        if lane == SHOWN:
            d.box(left + cell * column, top + cell * row, cell * (2 if right else 1), cell * (1 if right else 2), "none", RED, 2.2)
    d.box(left, top, cell * 16, cell * 16, "none")


def plain_loads():
    """The path of a tile through one warp, and which lane loads which pair of K and of V."""
    d = Drawing(900, 640)
    d.text(20, 26, "One warp and one tile of keys: what is in shared memory, and what in registers",
           14.5, "start", bold=True)
    y, high = 66, 62

    def place(x, width, words, below, colour):
        d.box(x, y, width, high, colour)
        d.text(x + width / 2, y + high / 2 + 5, words, 13, bold=True)
        d.text(x + width / 2, y + high + 18, below, 11.5, colour=NOTE)

    def arrow(start, end, words):
        d.line([(start, y + high / 2), (end, y + high / 2)], INK, 1.6, arrow=True)
        d.text((start + end) / 2, y + high / 2 - 8, words, 11.5)

    place(24, 110, "Q and K", "bf16, shared memory", PALE[0])
    arrow(138, 208, "MMAs")
    place(212, 110, "S", "fp32, registers", PALE[2])
    arrow(326, 400, "softmax")
    place(404, 110, "P", "fp32, registers", PALE[2])
    arrow(518, 592, "stored")
    place(596, 110, "P", "bf16, shared memory", PALE[0])
    arrow(710, 784, "and V")
    place(788, 92, "o", "fp32, registers", PALE[2])
    d.text(20, y + high + 48,
           "Both operands of each MMA come from shared memory, in blocks of 16 x 16. Lesson 05c "
           "saves the detour of P.", 12.5, "start")

    top, cell = 262, 19
    d.text(20, top - 56,
           "A block of K and one of V in their tiles. Numbers: lanes. A box: one register, two "
           "elements", 14.5, "start", bold=True)
    keys = [(lane, i, lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2 * 8, True) for lane in range(32) for i in range(4)]
    values = [(lane, i, lane % 4 * 2 + i % 2 * 8, lane // 4 + i // 2 * 8, False) for lane in range(32) for i in range(4)]
    grid(d, 60, top, cell, "K: rows are keys (n), columns channels (k)", keys)
    grid(d, 500, top, cell, "V: rows are keys (k), columns channels (n)", values)
    y = top + 16 * cell + 24
    for i, words in enumerate(("b[0], register 0", "b[0], register 1", "b[1], register 0", "b[1], register 1")):
        d.box(60 + 150 * i, y - 12, 16, 16, PALE[i], GREY)
        d.text(60 + 150 * i + 22, y + 1, words, 12, "start")
    d.text(20, y + 28,
           f"Red: lane {SHOWN}. A register holds two neighbours along k. Those of K are side by "
           "side: one load of four bytes.", 12.5, "start")
    d.text(20, y + 46, "Those of V are below each other: two loads of two bytes.", 12.5, "start")
    d.save("flash_plain_loads.svg")


def matrix_loads():
    """Which lane addresses which row of Q, K and V, and what each matrix becomes."""
    d = Drawing(900, 476)
    d.text(20, 26,
           "Which rows the lanes address when a block of 16 x 16 is loaded: four matrices of 8 x "
           "8, 0 to 3", 14.5, "start", bold=True)
    side, top = 108, 112
    blocks = (("Q, and the weights: an A", "rows are queries (m), columns k", [0, 2, 1, 3],
               ["a.x[0]", "a.x[1]", "a.x[2]", "a.x[3]"]), ("K: two B",
                  "rows are keys (n), columns k", [0, 1, 2, 3], ["b[0].x[0]", "b[0].x[1]",
                      "b[1].x[0]", "b[1].x[1]"]), ("V: two B, transposed (.trans)",
                  "rows are keys (k), columns n", [0, 2, 1, 3], ["b[0].x[0]", "b[0].x[1]",
                      "b[1].x[0]", "b[1].x[1]"]))
    for number, (name, rows, order, registers) in enumerate(blocks):
        left = 50 + 290 * number
        d.text(left - 20, top - 46, name, 13.5, "start", bold=True)
        d.text(left - 20, top - 26, rows, 12, "start", NOTE)
        for box, matrix in enumerate(order):
            x, y = left + box % 2 * side, top + box // 2 * side
            d.box(x, y, side, side, PALE[matrix])
            for row in range(1, 8):
                d.line([(x, y + side / 8 * row), (x + side, y + side / 8 * row)], "#ffffff", 1)
            d.box(x, y, side, side, "none")
            d.text(x + side / 2, y + 34, str(matrix), 20, bold=True)
            d.text(x + side / 2, y + 62, f"lanes {8 * matrix} to {8 * matrix + 7}", 12)
            d.text(x + side / 2, y + 84, registers[matrix], 12, colour=DARK_BLUE)
        d.text(left - 8, top + 10, "0", 10, "end", NOTE)
        d.text(left - 8, top + side + 10, "8", 10, "end", NOTE)
        d.text(left - 8, top + 2 * side - 2, "15", 10, "end", NOTE)
    y = top + 2 * side + 40
    d.text(20, y,
           "Matrices 1 and 2 are swapped between Q and K. Register 1 of an A is eight rows m "
           "further down. Register 1 of a B is eight k\n"
           "further on. In K's tile k runs along a row, so matrix 1 is to the right. In V's tile k "
           "runs down, so matrix 1 is below, as in Q,\n"
           "but two neighbours along k are in one column. Each matrix is therefore transposed, and "
           "a lane gets two elements of a column.", 12.5, "start")
    d.text(20, y + 72,
           "White lines separate the rows of a matrix, each addressed by one lane. You compute "
           "which row and column lane l addresses.", 12.5, "start", RED)
    d.save("flash_matrix_loads.svg")


def weights_in_registers():
    """The accumulators of two MMAs, and the left operand of the next: the same lanes and pairs."""
    d = Drawing(900, 520)
    d.text(20, 26,
           "The accumulators of a warp, and the left operand of its next MMA: the numbers are "
           "lanes", 14.5, "start", bold=True)
    cell, top = 20, 96
    sums = [(lane, 2 * half + i // 2, lane // 4 + i // 2 * 8, half * 8 + lane % 4 * 2, True) for lane in range(32) for half in range(2) for i in (0, 2)]
    factor = [(lane, i, lane // 4 + i % 2 * 8, lane % 4 * 2 + i // 2 * 8, True) for lane in range(32) for i in range(4)]
    assert sorted((lane, row, column) for lane, _, row, column, _ in sums) == sorted((lane, row, column) for lane, _, row, column, _ in factor)
    assert sorted(sums) == sorted(factor)
    grid(d, 50, top, cell, "P: two accumulators, 16 queries x 8 keys each", sums)
    grid(d, 540, top, cell, "A of P V: 16 queries x 16 keys (k)", factor)
    d.line([(50 + 8 * cell, top), (50 + 8 * cell, top + 16 * cell)], INK, 2.6)
    y = top + 8 * cell
    d.line([(384, y), (506, y)], GREEN, 2.4, arrow=True)
    d.text(446, y - 32, "pack two floats\ninto one register", 12, colour=GREEN)
    d.text(446, y + 22, "in the lane,\nno shuffle", 12, colour=GREEN)
    y = top + 16 * cell + 24
    for i, words in enumerate(("left, floats 0 and 1: register 0 of A", "left, floats 2 and 3: register 1 of A", "right, floats 0 and 1: register 2 of A", "right, floats 2 and 3: register 3 of A")):
        x = 50 + 420 * (i // 2)
        d.box(x, y - 12 + 22 * (i % 2), 16, 16, PALE[i], GREY)
        d.text(x + 22, y + 1 + 22 * (i % 2), words, 12, "start")
    d.text(20, y + 54,
           "On the left a box is two fp32 numbers, in two registers. On the right it is the same "
           "two numbers in bf16, in one register.\n"
           f"Red: lane {SHOWN} holds rows 1 and 9 in both, columns 4, 5, 12 and 13. It packs four "
           "times, and its part of the operand is ready.", 12.5, "start")
    d.save("flash_weights_in_registers.svg")


for draw in (plain_loads, matrix_loads, weights_in_registers):
    draw()
