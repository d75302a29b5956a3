"""The exchanges: a share of each part changes places, part sizes stay."""

import math

from partitions import finite_scores, parts_of
from philox import Stream

EXCHANGES = ["partial", "is", "is-pair", "ilag-pair", "balance-pair"]


def examples_to_give(parts, fraction, earlier):
    """For each worker what `earlier + 1` exchanges give in all, less what the earlier ones gave.

    Parts that differ by one give as many as the smallest.
    """
    sizes = [len(part) for part in parts]
    if max(sizes) - min(sizes) <= 1:
        sizes = [min(sizes)] * len(sizes)
    upto = lambda size, exchanges: math.floor(fraction * size * exchanges + 1e-9)
    return [upto(size, earlier + 1) - upto(size, earlier) for size in sizes]


def choose_uniformly(parts, counts, seed, epoch):
    chosen = []
    for worker, (part, count) in enumerate(zip(parts, counts)):
        stream = Stream(seed, "exchange", epoch, worker)
        pool = list(part)
        for slot in range(count):
            other = slot + stream.below(len(pool) - slot)
            pool[slot], pool[other] = pool[other], pool[slot]
        chosen.append(pool[:count])
    return chosen


def choose_by_importance(parts, scores, counts, seed, epoch):
    """An exponential race; examples of weight 0 come after all others, in random order."""
    shift = min(min(scores, default=0.0), 0.0)
    chosen = []
    for worker, part in enumerate(parts):
        stream = Stream(seed, "exchange", epoch, worker)
        finish = {}
        for example in part:
            time = stream.exponential()
            weight = scores[example] - shift
            finish[example] = (0, time / weight) if weight > 0 else (1, time)
        chosen.append(sorted(part, key=lambda e: finish[e] + (e,))[:counts[worker]])
    return chosen


def send_along_permutations(owners, chosen, seed, epoch):
    """In each slot those who still have something to give permute among themselves."""
    stream = Stream(seed, "exchange-route", epoch)
    after = list(owners)
    for slot in range(max(map(len, chosen))):
        givers = [w for w, examples in enumerate(chosen) if len(examples) > slot]
        for giver, receiver in zip(givers, stream.shuffle(list(givers))):
            after[chosen[giver][slot]] = receiver
    return after


def pair_extremes(keys, counts):
    """Largest with smallest, second with last but one, ...; ties by worker; who gives nothing, none."""
    order = sorted((w for w in range(len(keys)) if counts[w]), key=lambda w: (-keys[w], w))
    return [(order[i], order[-1 - i]) for i in range(len(order) // 2)]


def swap_chosen(owners, pairs, chosen):
    after = list(owners)
    for a, b in pairs:
        for of_a, of_b in zip(chosen[a], chosen[b]):  # as many as the smaller of the two offers
            after[of_a], after[of_b] = b, a
    return after


def swap_to_balance(owners, parts, scores, counts):
    """The rich gives its first of the ranking, the poor its last, as many as balance best."""
    sums = []
    for part in parts:
        total = 0.0
        for example in part:
            total += scores[example]
        sums.append(total)
    after = list(owners)
    for rich, poor in pair_extremes(sums, counts):
        count = min(counts[rich], counts[poor])
        hardest = sorted(parts[rich], key=lambda e: (-scores[e], e))[:count]
        easiest = sorted(parts[poor], key=lambda e: (-scores[e], e))[::-1][:count]
        gaps = [sums[rich] - sums[poor]]
        for hard, easy in zip(hardest, easiest):
            gaps.append(gaps[-1] - 2 * (scores[hard] - scores[easy]))
        swaps = min(range(len(gaps)), key=lambda k: (abs(gaps[k]), k))
        for hard, easy in zip(hardest[:swaps], easiest[:swaps]):
            after[hard], after[easy] = poor, rich
    return after


def exchange(name, importance, previous, workers, fraction, seed, epoch, earlier):
    """Owners after the exchange."""
    scores = finite_scores(importance)
    parts = parts_of(previous, workers)
    counts = examples_to_give(parts, fraction, earlier)
    if name == "partial":
        chosen = choose_uniformly(parts, counts, seed, epoch)
        return send_along_permutations(previous, chosen, seed, epoch)
    if name == "balance-pair":
        return swap_to_balance(previous, parts, scores, counts)
    chosen = choose_by_importance(parts, scores, counts, seed, epoch)
    if name == "is":
        return send_along_permutations(previous, chosen, seed, epoch)
    assert name in ("is-pair", "ilag-pair")
    # An empty part has no largest importance, and nothing to give.
    keys = [max((scores[e] for e in part), default=-math.inf) for part in parts]
    return swap_chosen(previous, pair_extremes(keys, counts), chosen)
