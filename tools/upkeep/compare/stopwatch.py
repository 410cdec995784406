"""Times all sides in the same way: graphs of the same number of calls over rotated inputs, replayed
in one stream between two events, with interleaved samples. Burst: after a pause and one replay that
raises the clock. Sustained: without a pause; the second half counts."""
import statistics
import time

import torch

import sampling


class Side:
    """One contestant, with a call for each copy of the inputs."""

    def __init__(self, name, ours, calls, library=None):
        self.name, self.ours, self.calls = name, ours, calls
        # the recorder for launches into the thread's default stream; otherwise PyTorch's records
        self._library = library
        self.errors, self.message, self.recorded = {}, "", True
        self.burst, self.sustained, self.whole = [], [], []
        self.replay = self.release = None  # set by record()

    def record(self, n, stream):
        """Makes the graph of n calls, which `replay` launches and `release` frees. Calls that
        cannot be captured are launched one by one."""
        rotated = [self.calls[i % len(self.calls)] for i in range(n)]
        if self._library is not None:
            graph = self._library.record(rotated)
            self.replay, self.release = lambda: graph.launch(stream.cuda_stream), graph.destroy
            return
        try:
            graph = torch.cuda.CUDAGraph()
            kept = []  # every call writes to its own memory, as ours do
            with torch.cuda.graph(graph, stream=stream):
                for call in rotated:
                    kept.append(call())
            self.replay, self.release = graph.replay, kept.clear
        except RuntimeError as error:
            torch.cuda.synchronize()
            self.recorded = False
            self.message = f"not recorded as a graph: {str(error).splitlines()[0]}"

            def replay():
                for call in rotated:
                    call()

            self.replay, self.release = replay, lambda: None


def _between_events(stream, work):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record(stream)
    work()
    end.record(stream)
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def estimate(side):
    """Roughly the seconds of a call. Calls are launched one by one, so the host may add to it."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for call in side.calls:
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / len(side.calls)


def measure(sides, copies, settings, stream):
    """Fills burst and sustained of each side; returns calls per graph and replays per burst."""
    for side in sides:
        estimate(side)
    n = sampling.calls_in_graph(min(estimate(side) for side in sides), copies, settings)
    torch.cuda.synchronize()
    for side in sides:
        side.record(n, stream)
    once = []
    for side in sides:
        side.replay()
        once.append(_between_events(stream, side.replay))
    replays = max(1, round(settings.burst_seconds / min(once)))

    def turns(rounds):
        for i in range(rounds):
            yield from sides[i % len(sides):] + sides[:i % len(sides)]

    for side in turns(settings.burst_rounds):
        torch.cuda.synchronize()
        time.sleep(settings.pause_seconds)
        side.replay()
        side.burst.append(_between_events(stream, lambda: [side.replay() for _ in range(replays)]) / (replays * n))
    for side in turns(settings.sustained_rounds):
        half = max(1, round(settings.sustained_seconds / 2 / (statistics.median(side.burst) * n)))
        for _ in range(half):
            side.replay()
        side.sustained.append(_between_events(stream, lambda: [side.replay() for _ in range(half)]) / (half * n))
    for side in sides:
        side.release()
        side.replay = side.release = None
    return n, replays


def measure_whole_calls(sides, settings):
    """The time on the host's clock from a call in Python until its result is there."""
    rounds = 5
    for i in range(rounds):
        for side in sides[i % len(sides):] + sides[:i % len(sides)]:
            for j in range(settings.whole_calls // rounds):
                call = side.calls[j % len(side.calls)]
                torch.cuda.synchronize()
                begin = time.perf_counter()
                call()
                torch.cuda.synchronize()
                side.whole.append(time.perf_counter() - begin)
