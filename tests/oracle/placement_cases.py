"""Golden cases of heuristics, exchanges and epoch orders."""

import numpy as np

import inputs
from exchanges import EXCHANGES, exchange
from measures import (class_skew, coefficient_of_variation, largest_ks_distance,
                      moves_and_messages)
from partitions import HEURISTICS, blocks, epoch_order, graded, most_kept_by_blocks, partition
from starts import STARTS, start


def partition_case(heuristic, importance, workers, label_list, sticky_to=None, sticky_workers=None,
                   seed=0, epoch=0, strength=0.5):
    any_naming = heuristic in ("blocks", "graded-blocks") and sticky_to is not None
    if any_naming:
        scores = importance
        if heuristic == "graded-blocks":
            scores = graded(importance, strength, seed, epoch)
        owners = blocks(scores, workers)  # the same parts under other names
        kept = most_kept_by_blocks(scores, workers, sticky_to)
        moved, messages = len(owners) - kept, None
    else:
        owners = partition(heuristic, importance, workers, seed, epoch, label_list, sticky_to,
                           strength)
        kept = moved = messages = None
        if sticky_to is not None:
            moved, messages = moves_and_messages(sticky_to, owners)
            kept = len(owners) - moved
    return {
        "heuristic": heuristic, "importance": importance, "workers": workers, "seed": seed,
        "epoch": epoch, "strength": strength, "labels": label_list, "sticky_to": sticky_to,
        "sticky_workers": sticky_workers, "owners": None if any_naming else owners, "kept": kept,
        "cv": coefficient_of_variation(owners, workers, importance),
        "ks": largest_ks_distance(owners, workers, importance),
        "class_skew": None if label_list is None else class_skew(owners, workers, label_list),
        "moved": moved, "messages": messages,
    }


def partition_cases():
    rng = np.random.default_rng(2)
    kinds_for = {0: ["grid"], 1: ["random", "all-nan"], 3: inputs.SCORE_KINDS,
                 7: inputs.SCORE_KINDS, 64: inputs.SCORE_KINDS,
                 101: ["random", "ties", "negative", "non-finite"], 500: ["grid", "zeros"]}
    result = []
    for count, kinds in kinds_for.items():
        for workers in [1, 2, 3, 5, 8]:
            for heuristic in HEURISTICS:
                for kind in kinds:
                    importance = inputs.scores(kind, count, rng)
                    with_labels = heuristic == "class-stripes" or rng.random() < 0.2
                    label_kind = inputs.LABEL_KINDS[len(result) % len(inputs.LABEL_KINDS)]
                    labels = inputs.labels(label_kind, count, rng) if with_labels else None
                    seed, epoch = inputs.SEEDS[len(result) % len(inputs.SEEDS)], len(result) % 100
                    strength = [0.0, 0.3, 0.8, 1.0][len(result) % 4]
                    result.append(partition_case(heuristic, importance, workers, labels,
                                                 seed=seed, epoch=epoch, strength=strength))
                    if heuristic == "random":
                        continue
                    before = max(1, workers + [0, 0, 2, -1][rng.integers(4)])
                    previous = inputs.previous_owners(heuristic, importance, before, labels, rng)
                    result.append(partition_case(heuristic, importance, workers, labels, previous,
                                                 before))
    for importance in [[1.0, -1.0], [2.0, 1.0, -1.0, -2.0]]:  # means that differ around 0
        result.append(partition_case("blocks", importance, 2, None))
    return result


def start_cases():
    rng = np.random.default_rng(5)
    result = []
    for count, workers in [(0, 2), (1, 3), (4, 9), (30, 1), (60, 4), (101, 7), (300, 10)]:
        for kind in inputs.LABEL_KINDS:
            labels = inputs.labels(kind, count, rng)
            for name in STARTS:
                for alpha, sizes in [(0.1, "free"), (1.0, "even"), (10.0, "free"), (0.3, "even")]:
                    seed = inputs.SEEDS[len(result) % len(inputs.SEEDS)]
                    result.append({"start": name, "labels": labels, "workers": workers,
                                   "seed": seed, "alpha": alpha, "sizes": sizes,
                                   "owners": start(name, labels, workers, seed, alpha, sizes)})
    return result


def exchange_case(name, importance, previous, workers, fraction, earlier, seed, epoch):
    owners = exchange(name, importance, previous, workers, fraction, seed, epoch, earlier)
    moved, messages = moves_and_messages(previous, owners)
    return {"exchange": name, "importance": importance, "previous": previous, "workers": workers,
            "fraction": fraction, "seed": seed, "epoch": epoch, "earlier_exchanges": earlier,
            "owners": owners, "moved": moved, "messages": messages}


def exchange_cases():
    rng = np.random.default_rng(3)
    kinds = [kind for kind in inputs.SCORE_KINDS if kind != "wide"]
    result = []
    for name in EXCHANGES:
        for workers in [1, 2, 3, 4, 7, 8]:
            for fraction in [0.0, 0.1, 0.29, 0.3, 0.5, 1.0]:
                for earlier in [0, 1, 5]:
                    turn = len(result)
                    shape = rng.choice(["even", "unequal", "empty"], p=[0.6, 0.35, 0.05])
                    count = int(rng.choice([4, 7, 10])) * workers + int(rng.integers(workers + 1))
                    result.append(exchange_case(
                        name, inputs.scores(kinds[turn % len(kinds)], count, rng),
                        inputs.exchange_owners(shape, count, workers, rng), workers, fraction,
                        earlier, inputs.SEEDS[turn % len(inputs.SEEDS)], turn % 100))
        for earlier in [0, 1, 5]:  # 0.29 * 100 is just below 29
            result.append(exchange_case(
                name, inputs.scores("random", 200, rng),
                inputs.exchange_owners("even", 200, 2, rng), 2, 0.29, earlier, 17611, earlier))
    return result


def order_cases():
    rng = np.random.default_rng(4)
    result = []
    for count, workers in [(0, 2), (1, 1), (3, 5), (12, 3), (23, 4), (64, 8), (101, 7)]:
        for shape in ["even", "unequal", "empty"]:
            owners = inputs.exchange_owners(shape, count, workers, rng)
            for shuffle in ["shared", "per-worker"]:
                for kind in [None, "random", "ties", "non-finite"]:
                    importance = inputs.scores(kind, count, rng) if kind else None
                    seed, epoch = inputs.SEEDS[len(result) % len(inputs.SEEDS)], len(result) % 100
                    result.append({
                        "owners": owners, "workers": workers, "seed": seed, "epoch": epoch,
                        "shuffle": shuffle, "importance": importance,
                        "order": epoch_order(owners, workers, seed, epoch, shuffle, importance)})
    return result
