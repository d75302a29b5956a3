"""All importance notions, from the full list of visits instead of running statistics."""

import math
import statistics
from collections import namedtuple

from philox import Stream

SIGNALS = ["loss", "probability", "correct", "margin", "entropy", "error_norm", "gradient_bound"]
EMA_WEIGHT = 0.3

Visit = namedtuple("Visit", ["epoch", "window", "finite", "signals"])


def mean_of(signal):
    return lambda visits: statistics.fmean(v.signals[signal] for v in visits)


def loss_variance(visits):
    if len(visits) < 2:
        return None
    return statistics.variance(v.signals["loss"] for v in visits)


def prediction_variance(visits):
    v = statistics.pvariance(visit.signals["probability"] for visit in visits)
    return math.sqrt(v + v * v / (len(visits) - 1)) if len(visits) > 1 else v


def threshold_closeness(visits):
    p = mean_of("probability")(visits)
    return p * (1 - p)


# From the finite visits of the window, at least one.
WINDOWED = {
    "loss-average": mean_of("loss"),
    "loss-variance": loss_variance,
    "confidence": lambda visits: 1 - mean_of("probability")(visits),
    "variability": lambda visits: statistics.pstdev(v.signals["probability"] for v in visits),
    "correctness": lambda visits: 1 - mean_of("correct")(visits),
    "prediction-variance": prediction_variance,
    "threshold-closeness": threshold_closeness,
    "grad-norm": mean_of("gradient_bound"),
    "el2n": mean_of("error_norm"),
    "margin": lambda visits: -mean_of("margin")(visits),
    "entropy": mean_of("entropy"),
}


def loss_last(visits):
    losses = [v.signals["loss"] for v in visits if v.finite]
    return losses[-1] if losses else None


def loss_ema(visits):
    losses = [v.signals["loss"] for v in visits if v.finite]
    if not losses:
        return None
    ema = losses[0]
    for loss in losses[1:]:
        ema = EMA_WEIGHT * loss + (1 - EMA_WEIGHT) * ema
    return ema


def forgetting(visits):
    right = [v.finite and v.signals["correct"] >= 0.5 for v in visits]
    if not any(right):
        return len(right) or None
    return sum(before and not now for before, now in zip(right, right[1:]))


# From all visits of the run.
RUNNING = {"loss-last": loss_last, "loss-ema": loss_ema, "forgetting": forgetting}

NOTIONS = list(WINDOWED) + list(RUNNING) + ["random", "truth"]


class Table:
    """Every visit of every example; unknown values are None."""

    def __init__(self, examples, ignore, window, seed, truth):
        self.ignore, self.window, self.seed, self.truth = ignore, window, seed, truth
        self.visits = [[] for _ in range(examples)]
        self.window_number = 0
        self.previous = {name: [None] * examples for name in NOTIONS}

    def observe(self, epoch, ids, signals):
        for j, example in enumerate(ids):
            values = {name: signals[name][j] for name in SIGNALS}
            finite = all(map(math.isfinite, values.values()))
            self.visits[example].append(Visit(epoch, self.window_number, finite, values))

    def close_window(self):
        self.previous = {name: self.known(name) for name in NOTIONS}
        self.window_number += 1

    def in_window(self, visits):
        return [v for v in visits if v.epoch >= self.ignore
                and (self.window == "run" or v.window == self.window_number)]

    def measured(self, name):
        """What the visits say."""
        if name == "truth":
            return list(self.truth)
        if name == "random":
            stream = Stream(self.seed, "notion", self.window_number)
            return [stream.uniform() for _ in self.visits]
        if name in RUNNING:
            return [RUNNING[name](visits) for visits in self.visits]
        finite = [[v for v in self.in_window(visits) if v.finite] for visits in self.visits]
        values = [WINDOWED[name](visits) if visits else None for visits in finite]
        if name == "loss-variance" and all(v is None for v in values):
            return self.measured("loss-average")
        return values

    def known(self, name):
        """Measured, else kept from the last window; diverged examples like the largest other,
        unless the notion does not look at signals at all."""
        if name in ("random", "truth"):
            return self.measured(name)
        values = [kept if value is None else value
                  for value, kept in zip(self.measured(name), self.previous[name])]
        diverged = [not all(v.finite for v in self.in_window(visits)) for visits in self.visits]
        others = [v for v, bad in zip(values, diverged) if not bad and v is not None]
        assert others or not any(diverged), "no other example to look at: choose other data"
        return [max(others) if bad else v for v, bad in zip(values, diverged)]

    def importance(self, name):
        values = self.known(name)
        known = [v for v in values if v is not None]
        mean = statistics.fmean(known) if known else 0.0
        return [float(mean if v is None else v) for v in values]
