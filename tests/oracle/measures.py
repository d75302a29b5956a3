"""Measures of a partition and of the difference between two."""

from collections import Counter

import numpy as np

from partitions import finite_scores, parts_of


def coefficient_of_variation(owners, workers, importance):
    """Population cv of the workers' mean importance; None where it is undefined."""
    scores = np.array(finite_scores(importance), dtype=np.float64)
    means = np.array([scores[part].mean() for part in parts_of(owners, workers) if part])
    if len(means) == 0 or np.all(means == means[0]):
        return 0.0
    mean = means.mean()
    if mean == 0:
        return None
    # Whether a mean is 0 must not hang on rounding.
    assert abs(mean) > 1e-9 * np.abs(scores).max(), "cv too close to undefined: choose other data"
    return float(means.std() / abs(mean))


def largest_ks_distance(owners, workers, importance):
    """Largest Kolmogorov-Smirnov distance between a part and the whole."""
    scores = np.array(finite_scores(importance), dtype=np.float64)
    if len(scores) == 0:
        return 0.0
    points = np.unique(scores)
    whole = np.searchsorted(np.sort(scores), points, side="right") / len(scores)
    largest = 0.0
    for part in parts_of(owners, workers):
        if part:
            own = np.searchsorted(np.sort(scores[part]), points, side="right") / len(part)
            largest = max(largest, float(np.abs(own - whole).max()))
    return largest


def class_skew(owners, workers, labels):
    """Largest total-variation distance between a part's mix of classes and the whole's."""
    whole = Counter(labels)
    largest = 0.0
    for part in parts_of(owners, workers):
        if part:
            own = Counter(labels[example] for example in part)
            distance = sum(abs(own[c] / len(part) - whole[c] / len(labels)) for c in whole) / 2
            largest = max(largest, distance)
    return largest


def moves_and_messages(before, after):
    moves = [(a, b) for a, b in zip(before, after) if a != b]
    return len(moves), len(set(moves))
