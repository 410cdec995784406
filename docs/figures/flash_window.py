"""Draws the picture of chapter 08's lesson 09."""
from drawing import BLUE, DARK_BLUE, GREY, LIGHT, NOTE, ORANGE, RED, Drawing

T, WINDOW, QUERIES, KEYS = 512, 192, 128, 64  # QUERIES per block, KEYS per tile


def first_key(query):
    return max(0, query + 1 - WINDOW)


def tiles_of(block):
    """The lesson's four borders: first, first_whole, whole, count."""
    first, last = block * QUERIES, block * QUERIES + QUERIES - 1
    return first_key(first) // KEYS, -(-first_key(last) // KEYS), (first + 1) // KEYS, -(-(last + 1) // KEYS)


def band(block, tile):
    """The corners of the area that the block's queries see of a tile, clockwise, in queries and
    keys."""
    top, left = block * QUERIES, tile * KEYS
    upper, lower = [], []
    for query in range(top, top + QUERIES + 1, KEYS):  # a divisor of all corners
        begin, end = max(left, query - WINDOW), min(left + KEYS, query)
        if begin <= end:
            upper.append((query, end)), lower.append((query, begin))
    return upper + lower[::-1]


def window():
    d = Drawing(900, 576)
    left, top, scale = 96, 76, 0.8
    d.text(left + T * scale / 2, 24, f"{T} keys, in tiles of {KEYS}", bold=True)
    d.text(20, top - 18, "queries", 13, "start", bold=True)
    for tile in range(T // KEYS):
        d.text(left + (tile + 0.5) * KEYS * scale, top - 14, f"{tile}", 12)
    for block in range(T // QUERIES):
        first, first_whole, whole, count = tiles_of(block)
        y, high = top + block * QUERIES * scale, QUERIES * scale
        d.text(left - 12, y + high / 2 + 4, f"block {block}", 12, "end", bold=block == 3)
        for tile in range(T // KEYS):
            x, wide = left + tile * KEYS * scale, KEYS * scale
            fetched = first <= tile < count
            is_whole = first_whole <= tile < whole
            d.box(x, y, wide, high, BLUE if is_whole else "white" if fetched else LIGHT, GREY if fetched else "#dddddd")
            if fetched and not is_whole:
                d.polygon([(left + key * scale, top + query * scale) for query, key in band(block, tile)], ORANGE)
    y = top + 3 * QUERIES * scale
    d.box(left - 4, y - 3, T * scale + 8, QUERIES * scale + 6, "none", RED, 2)
    first, first_whole, whole, count = tiles_of(3)
    under = top + T * scale + 6
    for tile, words in ((first, "first"), (first_whole, "first_whole"), (whole, "whole"), (count, "count")):
        x, low = left + tile * KEYS * scale, {"first": 24, "first_whole": 42, "whole": 24, "count": 42}[words]
        d.line([(x, under + low - 12), (x, under)], DARK_BLUE, 1.4, arrow=True)
        d.text(x, under + low, f"{words} = {tile}", 12, colour=DARK_BLUE)
    x = left + T * scale + 30
    d.text(x, 60, f"A window of {WINDOW} keys, blocks of {QUERIES} queries", 14, "start", bold=True)
    d.text(x, 82, "Orange and blue: the keys of a query, its own\nkey and the 191 before it.", 12.5,
           "start")
    for row, (colour, words) in enumerate(((LIGHT,
                                            "not loaded: no query of the block\nsees a key of this "
                                            "tile"), (ORANGE,
                                               "loaded, with the mask: some query\ndoes not see "
                                               "some key"), (BLUE,
                                               "loaded, without a mask: every query\nsees every "
                                               "key"))):
        d.box(x, 124 + 56 * row, 32, 32, "white" if colour == ORANGE else colour, GREY)
        if colour == ORANGE:
            d.polygon([(x, 124 + 56 * row), (x + 32, 156 + 56 * row), (x, 156 + 56 * row)], ORANGE)
        d.text(x + 44, 138 + 56 * row, words, 12.5, "start")
    d.text(x, 316, "Both ends move with the query.", 13, "start", bold=True)
    d.text(x, 338, "The first query of the block decides where\nthe block begins to read, and where the\ndiagonal begins (whole).\n"
           "The last query decides where the masks of\nthe window end (first_whole), and where\nthe block stops.", 12.5, "start")
    d.text(20, 562,
           "Without a window, block 3 would load tiles 0 to 7. With one it loads five of them, and "
           "so does every later block of a longer sequence.", 12.5, "start", NOTE)
    d.save("flash_window.svg")


window()
