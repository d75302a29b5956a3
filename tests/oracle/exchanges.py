"""The exchanges: a share of each part changes places, part sizes stay."""

import math

from partitions import finite_scores, parts_of
from philox import Stream

EXCHANGES = ["partial", "is", "is-pair", "ilag-pair", "balance-pair"]


def examples_to_give(parts, fraction, earlier):
    """What `earlier + 1` exchanges give in all, less what the earlier ones gave."""
    smallest = min(map(len, parts))
    upto = lambda exchanges: math.floor(fraction * smallest * exchanges + 1e-9)
    return upto(earlier + 1) - upto(earlier)


def choose_uniformly(parts, count, seed, epoch):
    chosen = []
    for worker, part in enumerate(parts):
        stream = Stream(seed, "exchange", epoch, worker)
        pool = list(part)
        for slot in range(count):
            other = slot + stream.below(len(pool) - slot)
            pool[slot], pool[other] = pool[other], pool[slot]
        chosen.append(pool[:count])
    return chosen


def choose_by_importance(parts, scores, count, seed, epoch):
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
        chosen.append(sorted(part, key=lambda e: finish[e] + (e,))[:count])
    return chosen


def send_along_permutations(owners, chosen, count, seed, epoch):
    stream = Stream(seed, "exchange-route", epoch)
    after = list(owners)
    for slot in range(count):
        receiver = stream.shuffle(list(range(len(chosen))))
        for worker, examples in enumerate(chosen):
            after[examples[slot]] = receiver[worker]
    return after


def pair_extremes(keys):
    """Largest with smallest, second with last but one, ...; ties by worker."""
    order = sorted(range(len(keys)), key=lambda w: (-keys[w], w))
    return [(order[i], order[-1 - i]) for i in range(len(order) // 2)]


def swap_chosen(owners, pairs, chosen):
    after = list(owners)
    for a, b in pairs:
        for example in chosen[a]:
            after[example] = b
        for example in chosen[b]:
            after[example] = a
    return after


def swap_to_balance(owners, parts, scores, count):
    """The rich gives its first of the ranking, the poor its last, as many as balance best."""
    sums = []
    for part in parts:
        total = 0.0
        for example in part:
            total += scores[example]
        sums.append(total)
    after = list(owners)
    for rich, poor in pair_extremes(sums):
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
    count = examples_to_give(parts, fraction, earlier)
    if name == "partial":
        chosen = choose_uniformly(parts, count, seed, epoch)
        return send_along_permutations(previous, chosen, count, seed, epoch)
    if name == "balance-pair":
        return swap_to_balance(previous, parts, scores, count)
    chosen = choose_by_importance(parts, scores, count, seed, epoch)
    if name == "is":
        return send_along_permutations(previous, chosen, count, seed, epoch)
    assert name in ("is-pair", "ilag-pair")
    # An empty part has no largest importance, but then nobody gives anything.
    keys = [max((scores[e] for e in part), default=-math.inf) for part in parts]
    return swap_chosen(previous, pair_extremes(keys), chosen)
