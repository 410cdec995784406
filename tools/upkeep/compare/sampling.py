"""How samples are taken and summarised: the part of the stopwatch that needs no GPU."""
import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Settings:
    # at least so many bytes of inputs per graph; an H200's L2 has 63e6
    rotated_bytes: int = 240_000_000
    graph_seconds: float = 1.5e-3  # at least, for a graph of the fastest side
    most_calls: int = 512  # per graph
    burst_seconds: float = 6e-3  # of the fastest side
    burst_rounds: int = 5
    pause_seconds: float = 0.12
    sustained_seconds: float = 0.5  # of each side; the second half is timed
    sustained_rounds: int = 2
    whole_calls: int = 200


def summary(samples):
    """The median, and half the distance of the quartiles as a fraction of it."""
    ordered = sorted(samples)
    middle = statistics.median(ordered)
    low, high = ordered[(len(ordered) - 1) // 4], ordered[-1 - (len(ordered) - 1) // 4]
    return {"seconds": middle, "spread": (high - low) / 2 / middle, "samples": len(ordered)}


def calls_in_graph(seconds_of_fastest, copies, settings):
    """A multiple of the number of copies, so that each is used equally often."""
    rounds = max(1, -(-settings.graph_seconds // (seconds_of_fastest * copies)))
    return int(max(copies, min(rounds * copies, settings.most_calls // copies * copies)))
