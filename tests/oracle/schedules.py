"""When a run repartitions and exchanges."""


def interval_starts(epochs, warmup, interval):
    """First epochs of the intervals after the warm-up; the last absorbs what is left over."""
    left = epochs - warmup
    if left == 0:
        return []
    count = max(1, left // interval) if interval > 0 else 1
    return [warmup + i * interval for i in range(count)]


def schedule(epochs, warmup, interval, ignore, exchange, needs_importance):
    """Events in order: [kind, epoch], and for the heuristic its window first..last-1."""
    assert 0 < epochs and warmup <= epochs
    at = {epoch: ["random", epoch] for epoch in range(max(warmup, 1))}
    starts = interval_starts(epochs, warmup, interval)
    window_start = 0
    for start in starts:
        if start > 0:  # without warm-up the first interval trains on the random partition
            first = max(window_start, ignore)
            assert first < start, "nothing observed yet: choose other numbers"
            at[start] = ["heuristic", start, first, start]
        window_start = start
    if exchange:
        for epoch in range(warmup, epochs):
            at.setdefault(epoch, ["exchange", epoch])
    return [at[epoch] for epoch in sorted(at)]
