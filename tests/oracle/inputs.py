"""Inputs for the golden cases. All numbers are exact in float32."""

import math

import numpy as np

from notions import SIGNALS
from partitions import partition

SEEDS = [0, 1, 17611, 2**32 + 5, 2**64 - 1]

SCORE_KINDS = ["random", "grid", "ties", "zeros", "negative", "non-finite", "equal", "all-nan",
               "wide"]
LABEL_KINDS = ["few", "large", "distinct", "one"]


def exact32(values):
    """As a list of floats, rounded to float32."""
    return [float(x) for x in np.asarray(values, dtype=np.float32)]


def scores(kind, count, rng):
    if kind == "random":
        return exact32(rng.gamma(1.0, 1.0, count))
    if kind == "grid":  # short in the file, all sums exact
        return exact32(rng.integers(0, 4096, count) / 512)
    if kind == "ties":
        return exact32(rng.integers(0, 4, count))
    if kind == "zeros":  # of both signs
        return exact32(rng.choice([0.0, -0.0, 0.5, 2.0], count, p=[0.5, 0.2, 0.2, 0.1]))
    if kind == "negative":
        return exact32(rng.integers(-3000, 1000, count) / 512)
    if kind == "non-finite":
        odd = rng.choice([math.nan, math.inf, -math.inf], count)
        return exact32(np.where(rng.random(count) < 0.2, odd, rng.integers(0, 2048, count) / 512))
    if kind == "equal":
        return exact32(np.full(count, 0.1))
    if kind == "all-nan":
        return [math.nan] * count
    assert kind == "wide"  # from the smallest denormal to the largest number
    return exact32(np.clip(10.0 ** rng.uniform(-45, 38.5, count), 1.5e-45, 3.4028234e38))


def labels(kind, count, rng):
    if kind == "few":
        return rng.integers(0, 4, count).tolist()
    if kind == "large":
        return rng.choice([4294967295, 4000000000, 123456789, 7, 0], count).tolist()
    if kind == "distinct":
        return rng.permutation(count).tolist()
    return [3] * count


def previous_owners(heuristic, importance, workers, label_list, rng):
    """To stick to: random, or what the heuristic made of slightly different scores."""
    if rng.random() < 0.5:
        return rng.integers(0, workers, len(importance)).tolist()
    noisy = exact32(np.asarray(importance) * (1 + 0.05 * rng.standard_normal(len(importance))))
    return partition(heuristic, noisy, workers, labels=label_list)


def exchange_owners(shape, count, workers, rng):
    """Parts of a given shape, in random places."""
    if shape == "even":
        owners = np.arange(count) % workers
    elif shape == "unequal":  # every worker has some, the last most
        owners = np.minimum(np.arange(count) // 3, workers - 1)
    else:
        assert shape == "empty"  # the last worker has nothing
        owners = np.arange(count) % max(1, workers - 1)
    return rng.permutation(owners).tolist()


def visit_signals(count, rng, shares=False):
    """Signals of plausible visits: of four classes, class 0 is the true one."""
    logits = rng.normal(0, 1.5, (count, 4)) + np.array([0.7, 0, 0, 0])
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    margin = logits[:, 0] - logits[:, 1:].max(axis=1)
    error = np.linalg.norm(p - np.array([1, 0, 0, 0]), axis=1)
    correct = rng.integers(0, 9, count) / 8 if shares else margin > 0
    columns = [-np.log(p[:, 0]), p[:, 0], correct, margin, -(p * np.log(p)).sum(axis=1), error,
               error * np.sqrt(1 + rng.gamma(4.0, 1.0, count))]
    return dict(zip(SIGNALS, map(exact32, columns)))


def spoil(ids, signals, spoiled, rng):
    """Makes one signal NaN or infinite at every visit of the examples in `spoiled`."""
    for j, example in enumerate(ids):
        if example in spoiled:
            signal = SIGNALS[rng.integers(len(SIGNALS))]
            signals[signal][j] = [math.nan, math.inf, -math.inf][rng.integers(3)]
    return signals
