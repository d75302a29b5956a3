"""Ranking, heuristics (plain and sticky) and epoch orders. A partition is a list of owners."""

import math
from statistics import NormalDist

from philox import Stream

HEURISTICS = ["random", "stripes", "blocks", "snake", "balanced", "class-stripes",
              "graded-blocks"]


def finite_scores(importance):
    """NaN and infinities count as the largest finite score, 0 if there is none."""
    largest = max((x for x in importance if math.isfinite(x)), default=0.0)
    return [x if math.isfinite(x) else largest for x in importance]


def ranking(importance):
    """Importance descending, ties by id ascending."""
    scores = finite_scores(importance)
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def parts_of(owners, workers):
    """Every worker's ids, ascending."""
    parts = [[] for _ in range(workers)]
    for example, owner in enumerate(owners):
        parts[owner].append(example)
    return parts


def random_partition(examples, workers, seed, epoch):
    ids = Stream(seed, "partition", epoch).shuffle(list(range(examples)))
    owners = [0] * examples
    for position, example in enumerate(ids):
        owners[example] = position % workers
    return owners


def block_edges(examples, workers):
    return [w * examples // workers for w in range(workers + 1)]


def blocks(importance, workers):
    order = ranking(importance)
    edges = block_edges(len(order), workers)
    owners = [0] * len(order)
    for w in range(workers):
        for example in order[edges[w] : edges[w + 1]]:
            owners[example] = w
    return owners


def graded(importance, strength, seed, epoch):
    """What graded blocks are cut by: normal scores of the ranks, and noise."""
    count = len(importance)
    scores = [0.0] * count
    for rank, example in enumerate(ranking(importance)):
        scores[example] = strength * NormalDist().inv_cdf((count - rank - 0.5) / count)
    stream = Stream(seed, "graded-blocks", epoch)
    return [score + (1 - strength) * stream.normal() for score in scores]


def most_kept_by_blocks(importance, workers, previous):
    """The most examples that can stay when the blocks may be named freely: tries every naming.

    best[S] is the most that the first |S| blocks can keep if they are named after the workers of
    the set S, so all namings are covered without listing them.
    """
    plain = blocks(importance, workers)
    overlap = [[0] * workers for _ in range(workers)]  # [block][previous owner]
    for block, owner in zip(plain, previous):
        if owner < workers:
            overlap[block][owner] += 1
    best = [0] * (1 << workers)
    for names in range(1, 1 << workers):
        block = bin(names).count("1") - 1
        best[names] = max(best[names & ~(1 << w)] + overlap[block][w]
                          for w in range(workers) if names >> w & 1)
    return best[-1]


def deal_rows(order, workers, preference, previous=None, scores=None):
    """Each worker gets one of every row of n neighbours in `order`.

    `preference(row, workers, sums)` orders the free workers. With `previous`, an example stays with
    its owner unless an earlier one of its row did.
    """
    owners = [None] * len(order)
    sums = [0.0] * workers
    for row, start in enumerate(range(0, len(order), workers)):
        examples = order[start : start + workers]
        taken = set()
        rest = []
        for example in examples:
            owner = previous[example] if previous is not None else workers
            if owner < workers and owner not in taken:
                owners[example] = owner
                taken.add(owner)
            else:
                rest.append(example)
        free = preference(row, [w for w in range(workers) if w not in taken], sums)
        for example, worker in zip(rest, free):
            owners[example] = worker
        if scores is not None:
            for example in examples:
                sums[owners[example]] += scores[example]
    return owners


def ascending(row, workers, sums):
    return workers


def back_and_forth(row, workers, sums):
    return workers if row % 2 == 0 else workers[::-1]


def least_sum_first(row, workers, sums):
    return sorted(workers, key=lambda w: (sums[w], w))


def partition(heuristic, importance, workers, seed=0, epoch=0, labels=None, sticky_to=None,
              strength=0.5):
    """Owners by the heuristic; sticky blocks have no unique answer: see most_kept_by_blocks."""
    if heuristic == "random":
        assert sticky_to is None
        return random_partition(len(importance), workers, seed, epoch)
    if heuristic == "blocks":
        assert sticky_to is None
        return blocks(importance, workers)
    if heuristic == "graded-blocks":
        return partition("blocks", graded(importance, strength, seed, epoch), workers,
                         sticky_to=sticky_to)
    order = ranking(importance)
    if heuristic == "stripes":
        return deal_rows(order, workers, ascending, sticky_to)
    if heuristic == "snake":
        return deal_rows(order, workers, back_and_forth, sticky_to)
    if heuristic == "balanced":
        scores = finite_scores(importance)
        return deal_rows(order, workers, least_sum_first, sticky_to, scores)
    assert heuristic == "class-stripes"
    by_class = sorted(order, key=lambda example: labels[example])  # stable: ranked inside a class
    return deal_rows(by_class, workers, ascending, sticky_to)


def epoch_order(owners, workers, seed, epoch, shuffle, importance=None):
    """The order in which every worker visits its part."""
    parts = parts_of(owners, workers)
    if shuffle == "per-worker":
        return [Stream(seed, "order", epoch, w).shuffle(part) for w, part in enumerate(parts)]
    assert shuffle == "shared"
    if importance is not None:
        place = {example: r for r, example in enumerate(ranking(importance))}
        parts = [sorted(part, key=place.get) for part in parts]
    longest = max(map(len, parts))
    positions = Stream(seed, "order", epoch).shuffle(list(range(longest)))
    return [[part[k] for k in positions if k < len(part)] for part in parts]
