"""Draws chapter 01's figures."""
from drawing import GREEN, NOTE, ORANGE, RED, Drawing

KEYS, STATE, BONUS = "#cfe2f3", "#fce5cd", "#d9ead3"

# The worked example of 01_naive_cpu/README.md; 01_naive_cpu/test.cpp computes it too.
Q = [(1, 1), (1, 0), (1, 1)]
K = [(1, 2), (0, 1), (1, 0)]
V = [(4, 2), (2, 6), (1, 3)]
W, U = (1, 0.5), (2, 1)


def steps():
    """(the state before, k v, the output, the state after) of each step."""
    state = [[0, 0], [0, 0]]
    for q, k, v in zip(Q, K, V):
        kv = [[k[j] * v[i] for i in range(2)] for j in range(2)]
        o = [sum(q[j] * (state[j][i] + U[j] * kv[j][i]) for j in range(2)) for i in range(2)]
        after = [[W[j] * state[j][i] + kv[j][i] for i in range(2)] for j in range(2)]
        yield state, kv, o, after
        state = after


def example():
    """Three steps of a state of two rows and two columns."""
    d = Drawing(900, 470)
    cell = 40

    def matrix(x, y, rows, colour, name):
        for j, row in enumerate(rows):
            for i, value in enumerate(row):
                d.box(x + cell * i, y + cell * j, cell, cell, colour)
                d.text(x + cell * (i + 0.5), y + cell * (j + 0.62), f"{value:g}", 15)
        d.text(x + cell * len(rows[0]) / 2, y - 8, name, 13)

    d.text(20, 26, f"K = V = 2, three steps.  w = ({W[0]:g}, {W[1]:g}): row 0 is kept, row 1 is halved.  u = ({U[0]:g}, {U[1]:g})", 15, "start", bold=True)
    for t, (state, kv, o, after) in enumerate(steps()):
        y = 66 + 138 * t
        d.text(20, y + 36, f"step {t}", 15, "start", bold=True)
        matrix(100, y, [[each] for each in Q[t]], KEYS, "q")
        matrix(164, y, [[each] for each in K[t]], KEYS, "k")
        matrix(228, y, [V[t]], KEYS, "v")
        matrix(356, y, state, STATE, "S before")
        matrix(476, y, kv, BONUS, "k v")
        matrix(596, y, [o], ORANGE, "o")
        matrix(800, y, after, STATE, "S after")
        d.text(596, y + 62, " + ".join(f"{Q[t][j]} ({state[j][0]:g} + {U[j]} · {kv[j][0]:g})" for j in range(2)), 12, "start", RED)
        d.line([(690, y + 20), (792, y + 20)], arrow=True)
        d.text(596, y + 80, "is column 0 of o", 12, "start", RED)
    d.text(20, 456, "S after = w S before + k v, row by row. The next step begins with it. The output reads S before, and the bonus adds u k v.", 13, "start", NOTE)
    d.save("naive_cpu_example.svg")


def brackets():
    """The same three matrices multiplied in two orders, drawn to one scale."""
    d = Drawing(900, 450)
    tokens, keys, values = 150, 38, 38

    def matrix(x, y, width, height, colour, name, shape):
        d.box(x, y, width, height, colour)
        d.text(x + width / 2, y + height / 2 + 5, name, 14)
        d.text(x + width / 2, y + height + 18, shape, 12, colour=NOTE)

    def times(x, y, sign="·"):
        d.text(x, y, sign, 18)

    middle = 130
    d.text(20, 28, "(Q Kᵀ) V: a table of scores, T x T", 15, "start", bold=True)
    matrix(30, middle - 75, keys, tokens, KEYS, "Q", "T x K")
    times(84, middle)
    matrix(100, middle - 19, tokens, keys, KEYS, "Kᵀ", "K x T")
    times(270, middle, "→")
    matrix(290, middle - 75, tokens, tokens, ORANGE, "scores", "T x T")
    times(456, middle)
    matrix(474, middle - 75, values, tokens, KEYS, "V", "T x V")
    times(532, middle, "→")
    matrix(552, middle - 75, values, tokens, BONUS, "O", "T x V")
    d.text(640, middle - 30, "multiply-adds:", 14, "start", bold=True)
    d.text(640, middle - 4, "T T K  and  T T V", 14, "start")
    d.text(640, middle + 22, "twice the tokens: 4 times the work", 13, "start", RED)

    middle = 345
    d.text(20, 262, "Q (Kᵀ V): a state, K x V", 15, "start", bold=True)
    matrix(30, middle - 19, tokens, keys, KEYS, "Kᵀ", "K x T")
    times(196, middle)
    matrix(212, middle - 75, values, tokens, KEYS, "V", "T x V")
    times(268, middle, "→")
    matrix(288, middle - 19, values, keys, ORANGE, "state", "K x V")
    times(370, middle, "then")
    matrix(410, middle - 75, keys, tokens, KEYS, "Q", "T x K")
    times(462, middle)
    matrix(476, middle - 19, values, keys, ORANGE, "state", "K x V")
    times(532, middle, "→")
    matrix(552, middle - 75, values, tokens, BONUS, "O", "T x V")
    d.text(640, middle - 30, "multiply-adds:", 14, "start", bold=True)
    d.text(640, middle - 4, "T K V  and  T K V", 14, "start")
    d.text(640, middle + 22, "twice the tokens: twice the work", 13, "start", GREEN)
    d.save("naive_cpu_brackets.svg")


example()
brackets()
