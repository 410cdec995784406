"""Draws the figures of chapter 00's lessons on what a model needs."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, NOTE, ORANGE, RED, Drawing

PURPLE = "#ead1dc"
OF_BATCH = ["#cfe2f3", "#d9ead3", "#fce5cd"]


def batches():
    """The blocks of three batches, and where a batch's matrix begins: batch * M K, not batch + M
    K."""
    d = Drawing(900, 470)
    d.text(20, 28, "Batched matmul: blocks are numbered through all batches. Here a batch has 2 x 3 tiles", 15, "start", bold=True)
    side = 46
    for batch in range(3):
        left, top = 60 + 280 * batch, 82
        d.text(left, top - 10, f"c of batch {batch}", 14, "start", bold=True)
        for tile in range(6):
            x, y = left + tile % 3 * side, top + tile // 3 * side
            here = (batch, tile) == (1, 4)
            d.box(x, y, side, side, DARK_BLUE if here else OF_BATCH[batch])
            d.text(x + side / 2, y + side / 2 + 5, str(6 * batch + tile), 14, colour="white" if here else INK)
    d.text(60, 204, "Block 10:  batch = 10 / 6 = 1,  tile = 10 % 6 = 4,  so row of tiles 4 / 3 = 1 and column of tiles 4 % 3 = 1", 14, "start", colour=DARK_BLUE)

    left, top, width, height = 60, 300, 252, 34
    d.text(20, 246,
           "a in memory: the matrices are stored one after the other, each with M K elements", 15,
           "start", bold=True)
    for batch in range(3):
        d.box(left + width * batch, top, width, height, OF_BATCH[batch])
        d.text(left + width * (batch + 0.5), top + 22, f"batch {batch}", 14)
        x = left + width * batch
        d.line([(x, top - 24), (x, top - 1)], GREEN, 1.4, arrow=True)
        d.text(x + 9, top - 10, ("0", "M K", "2 M K")[batch], 14, "start", GREEN, True)
    d.text(left + 3 * width, 272, "right: batch * M K", 13, "end", GREEN)
    cell, words = 18, left + width + 62
    for batch in range(3):
        x = left + width + cell * batch
        y = top + height + 30 + 22 * batch
        d.line([(words - 4, y), (x, y), (x, top + height + 1)], RED, 1.4, arrow=True)
        d.text(words, y + 5, f"batch {batch} would begin at M K" + (f" + {batch}" if batch else ""), 13, "start", RED)
    d.text(left + 3 * width, top + height + 35, "wrong: batch + M K", 13, "end", RED)
    d.text(20, 456,
           "Red: batch 0 reads the matrix of batch 1. Batch 1 reads its own, from its second "
           "element on. Batch 2 reads batch 1's from its third on.", 12, "start", NOTE)
    d.save("model_batches.svg")


def columns():
    """Tiles of 8 columns over the columns of three batches with 10 columns each."""
    d = Drawing(900, 430)
    N, K, tile, side, left = 10, 4, 8, 26, 60
    d.text(20, 28, "The columns of all batches, side by side. Here 3 batches of 10 columns, and tiles of 8 columns", 15, "start", bold=True)
    top = 90
    for j in range(3 * N):
        batch, n = divmod(j, N)
        d.text(left + side * (j + 0.5), top - 8, str(n), 11, colour=NOTE)
        for k in range(K):
            d.box(left + side * j, top + side * k, side, side, OF_BATCH[batch], GREY)
    for batch in range(3):
        d.text(left + side * N * (batch + 0.5), top - 28, f"b of batch {batch}: n =", 13, bold=True)
    y = top + K * side
    for first in range(0, 3 * N, tile):
        x = left + side * first
        d.box(x, top, side * tile, K * side, "none", INK, 2.4)
        d.text(x + side * tile / 2, y + 40, f"tile {first // tile}", 14, bold=True)
    for j in range(4 * tile):
        d.text(left + side * (j + 0.5), y + 18, str(j), 11, colour=DARK_BLUE if j == 13 else INK)
    d.text(left - 12, y + 18, "j =", 12, "end")
    x = left + side * 13.5
    d.box(x - side / 2, top, side, K * side, DARK_BLUE)
    d.text(left, y + 72, "Column j = 13:  batch = 13 / 10 = 1,  n = 13 % 10 = 3.  Tile 1 holds columns 8 and 9 of batch 0, and columns 0 to 5 of batch 1.", 13, "start", DARK_BLUE)
    d.text(left, y + 96, "Columns 30 and 31 do not exist: batch = 30 / 10 = 3, and there is no batch 3. They are filled with zeros and not stored.", 13, "start")
    y += 130
    d.text(20, y, "Tiles that begin anew with each batch: 6 tiles instead of 4", 15, "start",
           bold=True)
    for batch in range(3):
        for part in range(2):
            x = left + (side * 2 * tile + 6) * 0.62 * batch + side * tile * 0.62 * part
            for n in range(tile):
                real = part * tile + n < N
                d.box(x + side * 0.62 * n, y + 18, side * 0.62, 40, OF_BATCH[batch] if real else "white", GREY)
            d.box(x, y + 18, side * 0.62 * tile, 40, "none", INK, 2.4)
    d.text(left, y + 84,
           "White columns are past the end: 6 of 16 for each batch. Their threads load zeros and "
           "multiply them.", 13, "start")
    d.save("model_columns.svg")


def window():
    """A window of 3 x 3 in a tile of 4 x 4 lanes, and one lane per result of a row."""
    d = Drawing(900, 510)
    d.text(20, 28, "A window of 3 x 3 on an image: which lanes of a warp work?", 15, "start", bold=True)
    side, left, top = 34, 40, 96

    def image(x, y, rows, columns):
        for row in range(rows):
            for column in range(columns):
                d.box(x + side * column, y + side * row, side, side, "white", GREY)

    d.text(left, 62, "Step 1: a warp for each result. The lanes are\na tile of the window, sides rounded up to 4", 13, "start", bold=True)
    image(left, top, 6, 8)
    for lane in range(16):
        row, column = divmod(lane, 4)
        x, y = left + side * (column + 2), top + side * (row + 1)
        inside = row < 3 and column < 3
        d.box(x, y, side, side, BLUE if inside else "#f4cccc")
        d.text(x + side / 2, y + side / 2 + 5, str(lane), 13)
    d.box(left + side * 2, top + side, 3 * side, 3 * side, "none", DARK_BLUE, 2.6)
    y = top + 6 * side + 24
    d.text(left, y, "blue: 9 lanes read a pixel and a weight", 13, "start", DARK_BLUE)
    d.text(left, y + 20, "red: 7 lanes of the tile must be masked", 13, "start", RED)
    d.text(left, y + 40, "lanes 16 to 31 have no element of the tile", 13, "start")

    x0 = 450
    d.text(x0, 62, "Step 2: a lane for each result. Each lane goes\nthrough all taps. Here all are at tap (0, 0):", 13, "start", bold=True)
    image(x0, top, 6, 12)
    for lane in range(10):
        x, y1 = x0 + side * lane, top + side
        d.box(x, y1, side, side, BLUE)
        d.text(x + side / 2, y1 + side / 2 + 5, str(lane), 13)
    for lane, colour in ((0, DARK_BLUE), (1, GREEN)):
        d.box(x0 + side * lane + 2 * lane, top + side + 3 * lane, 3 * side - 2 * lane, 3 * side, "none", colour, 2.6)
    d.text(x0, y, "All lanes read at once, 32 neighbours in a row of the image", 13, "start", DARK_BLUE)
    d.text(x0, y + 20, "(10 of them are drawn). All multiply with the same weight.", 13, "start")
    d.text(x0, y + 40, "Blue and green frame: the windows of lanes 0 and 1.", 13, "start")

    y += 84
    d.text(20, y, "The weights in memory, and what a tile of 4 x 4 reads without a mask", 15, "start", bold=True)
    for at in range(12):
        x = left + side * at
        d.box(x, y + 34, side, side, OF_BATCH[0] if at < 9 else OF_BATCH[1])
        d.text(x + side / 2, y + 56, f"{at // 3 % 3},{at % 3}", 12)
    d.text(left + 1.5 * side, y + 26, "row 0", 12, colour=NOTE)
    d.text(left + 4.5 * side, y + 26, "row 1", 12, colour=NOTE)
    d.text(left + 7.5 * side, y + 26, "row 2", 12, colour=NOTE)
    d.text(left + 10.5 * side, y + 26, "the next channel", 12, colour=NOTE)
    d.line([(left, y + 76), (left + 4 * side, y + 76)], RED, 2)
    d.text(left + 4 * side + 6, y + 80, "row 0 of the tile: its fourth weight is the first one of row 1", 12.5, "start", RED)
    d.save("model_window.svg")


def im2col():
    """An image of 4 x 4, a window of 2 x 2: the unrolled matrix, and the tile that a block gathers
    from the image."""
    d = Drawing(900, 520)
    d.text(20, 28,
           "im2col: a column holds the pixels below the window at one position. Here a window of 2 "
           "x 2", 14, "start", bold=True)
    side, left, top = 34, 40, 92
    d.text(left, top - 12, "x: one channel", 13, "start", bold=True)
    for row in range(4):
        for column in range(4):
            under = row in (1, 2) and column in (1, 2)
            d.box(left + side * column, top + side * row, side, side, ORANGE if under else OF_BATCH[0], GREY)
            d.text(left + side * (column + 0.5), top + side * (row + 0.5) + 5, str(4 * row + column), 13)
    d.box(left + side, top + side, 2 * side, 2 * side, "none", INK, 2.4)
    d.text(left, top + 4 * side + 24,
           "The window at position oy = 1, ox = 1\ncovers pixels 5, 6, 9 and 10.", 13, "start")

    x0 = 330
    d.text(x0, top - 34, "the unrolled matrix: K = C KH KW rows, B OH OW columns", 13, "start", bold=True)
    for j in range(9):
        oy, ox = divmod(j, 3)
        d.text(x0 + side * (j + 0.5), top - 10, f"{oy},{ox}", 12, colour=NOTE)
        for k in range(4):
            ky, kx = divmod(k, 2)
            d.box(x0 + side * j, top + side * k, side, side, ORANGE if j == 4 else OF_BATCH[0], GREY)
            d.text(x0 + side * (j + 0.5), top + side * (k + 0.5) + 5, str(4 * (oy + ky) + ox + kx), 13)
    for k in range(4):
        d.text(x0 + side * 9 + 8, top + side * (k + 0.5) + 5, f"k = {k}: ky = {k // 2}, kx = {k % 2}", 13, "start")
    d.text(x0 - 8, top - 10, "oy,ox", 12, "end", NOTE)
    d.text(x0, top + 4 * side + 24,
           "Column j = 4 is position (1, 1). Pixel 5 is in four columns, so the\nmatrix has 36 "
           "elements, but the image has 16.", 13, "start")

    y = 330
    d.text(20, y, "The kernel never stores this matrix. A block gathers a tile of it, from the image into shared memory:", 14, "start", bold=True)
    y += 24
    for words, x, width, height, colour in (("weights\n(M, K)", 60, 90, 70, PURPLE), ("unrolled\n(K, B OH OW)", 330, 170, 90, OF_BATCH[0]), ("y\n(M, B OH OW)", 640, 170, 70, OF_BATCH[1])):
        d.box(x, y, width, height, colour)
        d.text(x + width / 2, y + height / 2 - 2, words, 13)
    d.text(240, y + 42, "x", 18)
    d.text(570, y + 42, "=", 18)
    d.text(60, y + 112, "stored as they are:\na row for each channel of y", 13, "start")
    d.text(330, y + 112, "an element is looked up in x\nwhen its tile is loaded", 13, "start")
    d.text(640, y + 112, "stored as (B, M, OH, OW),\na bias for each row m", 13, "start")
    d.save("model_im2col.svg")


for draw in (batches, columns, window, im2col):
    draw()
