"""Draws the figure of 07_chunkwise/16b_linear_gradients."""
from drawing import DARK_BLUE, GREY, INK, LIGHT, NOTE, ORANGE, Drawing

PALE = "#f2f2f2"
# tokens; tokens per chunk in the picture; the token whose gradient is computed
TOKENS, CHUNK, OWN = 6, 4, 3
RUNS = [("Run 1: dq", "d_o", "v", "k", "dq", False, "S transposed:\nthe sum of v k^T, tokens 0 to 3"),
        ("Run 2: dk", "v", "d_o", "q", "dk", True, "D transposed:\nthe sum of d_o q^T, tokens 3 to 5"),
        ("Run 3: dv", "k", "q", "d_o", "dv", True, "D:\nthe sum of q d_o^T, tokens 3 to 5")]


def runs():
    """Three runs of one kernel: the arrays for its q, k and v, what token 3 sees, and the order of
    tokens."""
    d = Drawing(900, 570)
    d.text(20, 28, "One kernel, three runs: the gradients of token 3 of six", 15, "start", bold=True)
    left, side = 250, 58
    for n, (name, q, k, v, gives, back, state) in enumerate(RUNS):
        y = 92 + 160 * n
        d.text(20, y + 4, name, 14, "start", bold=True)
        for i, (role, array) in enumerate([("q", q), ("k", k), ("v", v)]):
            d.box(20 + 68 * i, y + 16, 60, 30, LIGHT, GREY, 0.8)
            d.text(50 + 68 * i, y + 36, array, 14, bold=True)
            d.text(50 + 68 * i, y + 62, f"as {role}", 11.5, colour=NOTE)
        for t in range(TOKENS):
            x, seen = left + side * t, t >= OWN if back else t <= OWN
            d.box(x, y + 16, side, 34, ORANGE if seen else PALE, GREY, 0.8)
            d.text(x + side / 2, y + 38, f"token {t}", 11.5)
            walk = TOKENS - 1 - t if back else t
            d.text(x + side / 2, y + 70, str(walk), 12.5, colour=DARK_BLUE)
        d.box(left + side * OWN, y + 16, side, 34, "none", INK, 2.6)
        d.line([(left + side * (OWN + 0.5), y + 16), (left + side * (OWN + 0.5), y - 10)], INK, 1.6, arrow=True)
        d.text(left + side * (OWN + 0.5), y - 16, f"{gives} of token 3", 12.5, bold=True)
        # The chunks, in the walk's order.
        for chunk, (first, end) in enumerate([(0, CHUNK), (CHUNK, TOKENS)]):
            a, b = (TOKENS - end, TOKENS - first) if back else (first, end)
            d.line([(left + side * a + 5, y + 78), (left + side * a + 5, y + 84), (left + side * b - 5, y + 84), (left + side * b - 5, y + 78)], DARK_BLUE)
            d.text(left + side * (a + b) / 2, y + 100, f"chunk {chunk}", 11.5, colour=DARK_BLUE)
        begin, end = left + 20, left + side * TOKENS - 20
        d.line([(end, y - 2), (left + side * (OWN + 1) + 30, y - 2)] if back else [(begin, y - 2), (left + side * OWN - 30, y - 2)], DARK_BLUE, 2, arrow=True)
        d.text(left + side * TOKENS + 18, y + 22, "the state that token 3 reads:", 12, "start", NOTE)
        d.text(left + side * TOKENS + 18, y + 42, state, 12.5, "start")
    d.text(20, 552,
           "Orange: the tokens that token 3 sees. Blue: the order of the walk, in chunks of four "
           "tokens (of 64 in the kernel).", 13, "start")
    d.save("linear_gradients.svg")


runs()
