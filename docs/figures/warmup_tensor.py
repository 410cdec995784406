"""Draws the pictures of chapter 00's lessons 16 and 17 beside this script. usage: python3 docs/figures/warmup_tensor.py"""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, ORANGE, RED, Drawing

NOTE = "#666666"
PALE = ["#cfe2f3", "#d9ead3", "#fce5cd", "#ead1dc"]
SHOWN = 6  # the lane that is followed


def fragments():
    """Which lane holds which elements of A, B and C in one m16n8k16 instruction."""
    d = Drawing(900, 560)
    cell, top = 23, 104
    d.text(20, 28, "C += A B in one instruction: each lane holds 8 elements of A, 4 of B and 4 of C. The numbers are lanes", 15, "start", bold=True)

    def place_in_a(lane, i):
        return lane // 4 + i % 2 * 8, lane % 4 * 2 + i // 2 * 8

    def place_in_b(lane, i):
        return lane % 4 * 2 + i * 8, lane // 4

    def place_in_c(lane, i):
        return lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2

    def matrix(left, name, columns, place, count, width, height):
        d.text(left, top - 26, name, 14, "start", bold=True)
        for column in range(columns):
            d.text(left + cell * (column + 0.5), top - 7, str(column), 10, colour=NOTE)
        for lane in range(32):
            for i in range(count):
                row, column = place(lane, i)
                special = lane == SHOWN
                d.box(left + cell * column, top + cell * row, cell * width, cell * height, PALE[i], GREY, 0.7)
                d.text(left + cell * (column + width / 2), top + cell * (row + height / 2) + 4, str(lane), 11, bold=special, colour=RED if special else INK)
        for i in range(count):
            row, column = place(SHOWN, i)
            d.box(left + cell * column, top + cell * row, cell * width, cell * height, "none", RED, 2.4)
        d.box(left, top, cell * columns, cell * 16, "none")

    lefts = 44, 474, 690
    for row in range(16):
        d.text(lefts[0] - 8, top + cell * (row + 0.5) + 4, str(row), 10, "end", NOTE)
        d.text(lefts[1] - 8, top + cell * (row + 0.5) + 4, str(row), 10, "end", NOTE)
        d.text(lefts[2] - 8, top + cell * (row + 0.5) + 4, str(row), 10, "end", NOTE)
    matrix(lefts[0], "A: 16 rows, 16 columns (k)", 16, place_in_a, 4, 2, 1)
    matrix(lefts[1], "B: 16 rows (k), 8 columns", 8, place_in_b, 2, 1, 2)
    matrix(lefts[2], "C: 16 rows, 8 columns", 8, place_in_c, 4, 1, 1)
    y = top + cell * 16 + 22
    for i in range(4):
        d.box(lefts[0] + 98 * i, y - 12, 16, 16, PALE[i], GREY)
        d.text(lefts[0] + 98 * i + 22, y + 1, f"register {i}", 12, "start")
    d.text(20, y + 34, f"Red: lane {SHOWN}. It holds A[1][4, 5], A[9][4, 5], A[1][12, 13], A[9][12, 13]; B[4, 5][1], B[12, 13][1]; C[1][4], C[1][5], C[9][4], C[9][5].\n"
           "A register of A or B is one box: two bf16 elements, side by side in A, one below the other in B. A register of C is one fp32 element.", 12.5, "start")
    d.save("warmup_fragments.svg")


if __name__ == "__main__":
    for draw in (fragments,):
        draw()
