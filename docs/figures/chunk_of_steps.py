"""Draws the picture of 07_chunkwise/README.md."""
from drawing import DARK_BLUE, GREEN, GREY, LIGHT, NOTE, ORANGE, RED, Drawing

# the more decays, the paler
BLUES = ["#6fa8dc", "#7fb2e0", "#8fbce4", "#9fc5e8", "#afcfec", "#bfd8f0", "#cfe2f4", "#dfecf8"]
CHUNK, CELL = 16, 22

# The worked example of the page: one channel of q, k, w and u, one column of v and of the state.
Q, K, V, W, U, STATE = (1, 2, 1), (4, 2, 1), (1, 3, 2), (0.5, 0.5, 0.5), 2, 8


def by_steps():
    """The outputs, and the state after them, step by step."""
    state, outputs = STATE, []
    for q, k, v, w in zip(Q, K, V, W):
        outputs.append(q * (state + U * k * v))
        state = w * state + k * v
    return outputs, state


def product(factors):
    result = 1
    for each in factors:
        result *= each
    return result


def by_chunk():
    """The same results, all computed from the state before the chunk."""
    steps = range(len(Q))
    q_state = [Q[t] * product(W[:t]) for t in steps]
    k_state = [K[s] * product(W[s + 1:]) for s in steps]
    score = [[Q[t] * (U if s == t else product(W[s + 1:t])) * K[s] for s in range(t + 1)] for t in steps]
    outputs = [q_state[t] * STATE + sum(p * v for p, v in zip(score[t], V)) for t in steps]
    return outputs, product(W) * STATE + sum(k * v for k, v in zip(k_state, V))


def chunk():
    """Scores of 16 steps; to their left and below, the decays to the state."""
    d = Drawing(920, 560)
    left, top = 318, 70
    side = CHUNK * CELL
    d.text(left + side / 2, 24, "scores of one chunk: row t is a query, column s a key", 14, bold=True)
    for at in range(0, CHUNK, 5):
        d.text(left + (at + 0.5) * CELL, top - 8, str(at), 11, colour=NOTE)
        d.text(left + side + 12, top + (at + 0.68) * CELL, str(at), 11, colour=NOTE)
    for t in range(CHUNK):
        y = top + t * CELL
        for s in range(CHUNK):
            colour = LIGHT if s > t else ORANGE if s == t else BLUES[min((t - s - 1) // 2, len(BLUES) - 1)]
            d.box(left + s * CELL, y, CELL, CELL, colour, GREY, 0.5)
            if s == t:
                d.text(left + (s + 0.5) * CELL, y + 15, "u", 12)
            elif s < t < 4 or (s, t) == (4, 12):
                d.text(left + (s + 0.5) * CELL, y + 15, str(t - s - 1), 11)
        # The decays from the state before the chunk to this query.
        width = 6 * t
        d.box(left - 24 - width, y + 5, width, CELL - 10, GREEN, GREEN, 0)
    for s in range(CHUNK):  # those from this key to the state after the chunk
        height = 6 * (CHUNK - 1 - s)
        d.box(left + s * CELL + 5, top + side + 12, CELL - 10, height, DARK_BLUE, DARK_BLUE, 0)
    d.box(30, top + side / 2 - 62, 128, 124, "#fce5cd")
    d.text(94, top + side / 2 - 8, "S before", 15, bold=True)
    d.text(94, top + side / 2 + 14, "the chunk", 13)
    d.line([(162, top + side / 2), (200, top + side / 2)], arrow=True)
    d.text(30, top + 12,
           "q~: query t reads the state\nafter the decays of steps 0\nto t - 1, the green bar", 12,
           "start", GREEN)
    d.text(30, top + side + 30,
           "k~: key s is added to the state\nafter the decays of steps s + 1\nto 15, the blue bar",
           12, "start", DARK_BLUE)
    d.text(30, top + side + 96, "S itself: all 16 decays, once", 12, "start", RED)
    d.box(left + side + 60, top + side + 12, 128, 92, "#fce5cd")
    d.text(left + side + 124, top + side + 52, "S after", 15, bold=True)
    d.text(left + side + 124, top + side + 74, "the chunk", 13)
    d.line([(left + side + 6, top + side + 58), (left + side + 54, top + side + 58)], arrow=True)
    notes = left + side + 40
    d.box(notes, top + 40, 16, 16, ORANGE, GREY, 0.5)
    d.text(notes + 24, top + 53, "key t itself: no decay,\nbut the bonus u", 12, "start")
    d.box(notes, top + 96, 16, 16, BLUES[0], GREY, 0.5)
    d.text(notes + 24, top + 109, "an earlier key: the number\ncounts the decays of the\nsteps between s and t", 12, "start")
    d.text(notes + 24, top + 166, "query 12 and key 4: steps\n5 to 11, so 7 factors w", 12, "start", NOTE)
    d.box(notes, top + 206, 16, 16, LIGHT, GREY, 0.5)
    d.text(notes + 24, top + 219, "a later key: no score", 12, "start")
    d.text(notes, top + 262,
           "Nothing is divided. Each bar\nand cell is a product of\nfactors w, each at most 1.", 12,
           "start", RED)
    d.save("chunk_of_steps.svg")


assert by_steps() == by_chunk() == ([16, 40, 14], 7), (by_steps(), by_chunk())
chunk()
