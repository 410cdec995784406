"""Draws the picture of lesson 08.20b."""
from drawing import BLUE, DARK_BLUE, GREEN, GREY, INK, LIGHT, NOTE, RED, Drawing

MINE, THEIRS, BOTH = BLUE, "#d9ead3", "#fce5cd"
TABLES = (("sequence 0: 53 keys", [9, 2, 11, 0], 53, MINE), ("sequence 1: 70 keys", [9, 2, 5, 7, 3], 70, THEIRS))
PAGES, PAGE_KEYS, ENTRIES = 12, 16, 6


def pages():
    """Two sequences, their rows of the table, and their pages in memory; a look-up of one key."""
    d = Drawing(900, 560)
    d.text(20, 28, "The table: which page holds keys 16 n to 16 n + 15 of a sequence", 14.5, "start", bold=True)
    left, wide, tall = 200, 84, 38
    for n in range(ENTRIES):
        d.text(left + wide * (n + 0.5), 54, f"n = {n}", 11.5, colour=NOTE)
    for row, (words, table, keys, colour) in enumerate(TABLES):
        y = 64 + 52 * row
        d.text(left - 12, y + 24, words, 13, "end")
        for n in range(ENTRIES):
            used = n < len(table)
            shared = used and row == 1 and table[n] in TABLES[0][1] or used and row == 0 and table[n] in TABLES[1][1]
            d.box(left + wide * n, y, wide, tall, BOTH if shared else colour if used else LIGHT, INK if used else GREY, 1 if used else 0.7)
            d.text(left + wide * (n + 0.5), y + 25, f"page {table[n]}" if used else "not read", 13 if used else 11.5, colour=INK if used else NOTE, bold=used)
    d.text(left + wide * ENTRIES + 14, 88, "16 + 16 + 16 + 5 keys", 12.5, "start", NOTE)
    d.text(left + wide * ENTRIES + 14, 140, "16 + 16 + 16 + 16 + 6", 12.5, "start", NOTE)

    d.text(20, 200, "The pages in k (v has the same)", 14.5, "start", bold=True)
    left, wide, top, tall = 20, 71.5, 236, 96
    owner = {page: colour for _, table, _, colour in TABLES for page in table}
    owner.update({page: BOTH for page in set(TABLES[0][1]) & set(TABLES[1][1])})
    filled = {page: min(PAGE_KEYS, keys - PAGE_KEYS * n) for _, table, keys, _ in TABLES for n, page in enumerate(table)}
    for page in range(PAGES):
        x = left + wide * page
        d.text(x + wide / 2, top - 8, f"page {page}", 12, bold=page in owner)
        height = tall * filled.get(page, 0) / PAGE_KEYS
        d.box(x, top, wide - 5, tall, "white", GREY, 0.8)
        if page in owner:
            d.box(x, top, wide - 5, height, owner[page], INK, 1)
        if page not in owner:
            d.text(x + wide / 2 - 2, top + 52, "free", 12, colour=NOTE)
        elif filled[page] < PAGE_KEYS:
            d.text(x + wide / 2 - 2, top + height + 18, f"{PAGE_KEYS - filled[page]} rows\nnot read", 11, colour=RED)
    y = top + tall + 26
    for x, colour, words in ((20, MINE, "sequence 0 alone"), (230, THEIRS, "sequence 1 alone"), (440, BOTH, "both: their first 32 keys are the same tokens")):
        d.box(x, y - 13, 24, 16, colour)
        d.text(x + 32, y, words, 12.5, "start")

    y = 412
    d.text(20, y, "Key 39 of sequence 1", 14.5, "start", bold=True)
    steps = (("n = 39 / 16 = 2", "which entry", MINE), ("page 5", "block_table(1, 2)", THEIRS), ("39 % 16 = 7", "which row of the page", MINE), ("5 * 16 + 7 = 87", "which row of k", THEIRS))
    for i, (words, note, colour) in enumerate(steps):
        x = 20 + 222 * i
        d.box(x, y + 18, 178, 40, colour)
        d.text(x + 89, y + 43, words, 14, bold=True)
        d.text(x + 89, y + 78, note, 12.5, colour=DARK_BLUE)
        if i < len(steps) - 1:
            d.line([(x + 182, y + 38), (x + 218, y + 38)], INK, 1.6, arrow=True)
    d.text(20, y + 118,
           "Keys 32 to 47 are in the same page. One entry serves all 16 of them, and all channels "
           "of all heads.", 13, "start", GREEN)
    d.save("paged_cache.svg")


pages()
