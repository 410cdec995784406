"""Draws the figures of chapter 00's lessons on what a model needs. usage: python3 docs/figures/model.py"""
from drawing import DARK_BLUE, GREEN, INK, RED, Drawing

NOTE = "#666666"
OF_BATCH = ["#cfe2f3", "#d9ead3", "#fce5cd"]


def batches():
    """The blocks of three batches, and where a batch's matrix begins: batch * M K, not batch + M K."""
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
    d.text(20, 246, "a in memory: the matrices lie one behind the other, each with M K elements", 15, "start", bold=True)
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
    d.text(20, 456, "The red arrows: batch 0 reads the matrix of batch 1. Batch 1 reads its own, from its second element on. Batch 2 reads batch 1's from its third on.", 12, "start", NOTE)
    d.save("model_batches.svg")


if __name__ == "__main__":
    for draw in (batches,):
        draw()
