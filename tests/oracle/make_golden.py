"""Writes the golden values that the C++ tests compare with: make_golden.py OUT.json

Deterministic. Non-finite numbers are the strings "nan", "inf" and "-inf".
"""

import json
import math
import sys

import numpy as np

import inputs
from notions import NOTIONS, Table
from philox import ALL_WORKERS, KNOWN_ANSWERS, Stream, check_known_answers, philox4x32_10
from placement_cases import exchange_cases, order_cases, partition_cases, start_cases
from schedules import schedule


def philox_cases():
    rng = np.random.default_rng(1)
    blocks = [(counter, key) for counter, key, _ in KNOWN_ANSWERS]
    for _ in range(8):
        words = rng.integers(0, 2**32, 6).tolist()
        blocks.append((words[:4], words[4:]))
    return [{"counter": counter, "key": key, "result": philox4x32_10(counter, key)}
            for counter, key in blocks]


def stream_cases():
    bounds = [1, 2, 3, 5, 7, 10, 64, 1000, 2**16 + 1, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 1,
              2**32, 6, 2**31 + 1]
    names = [(0, "partition", 0, ALL_WORKERS), (17611, "exchange", 20, 3),
             (2**32 + 5, "exchange-route", 99, ALL_WORKERS), (2**64 - 1, "order", 2**32 - 1, 0),
             (2**63 + 12345678901, "notion", 7, 2**32 - 2), (42, "", 1, 1), (1, "order", 0, 2047)]
    result = []
    for case, (seed, purpose, epoch, worker) in enumerate(names):
        fresh = lambda: Stream(seed, purpose, epoch, worker)
        draw = lambda stream, method, count: [getattr(stream, method)() for _ in range(count)]
        size = [0, 1, 2, 5, 16, 100, 257][case]
        stream = fresh()
        result.append({
            "seed": seed, "purpose": purpose, "epoch": epoch, "worker": worker,
            "words": draw(fresh(), "next32", 16),
            "bounds": bounds, "below": [stream.below(bound) for bound in bounds],
            "uniform": draw(fresh(), "uniform", 8),
            "exponential": draw(fresh(), "exponential", 8),
            "normal": draw(fresh(), "normal", 8),
            "shuffle_size": size, "shuffle": fresh().shuffle(list(range(size))),
        })
    return result


def notion_case(rng, examples, epochs, closes, ignore=0, window="interval", seed=0, visited=1.0,
                repeats=0, spoiled=(), shares=False):
    """Windows end after the epochs in `closes`; `spoiled` maps an epoch to examples.

    The last tenth of the examples is never visited if `visited` is below 1; of the others every
    epoch visits this share, in batches of at most 16, and `repeats` of them twice.
    """
    truth = inputs.exact32(rng.random(examples))
    table = Table(examples, ignore, window, seed, truth)
    reachable = examples if visited == 1 else examples - max(1, examples // 10)
    steps = []
    for epoch in range(epochs):
        ids = rng.permutation(reachable)[: math.ceil(visited * reachable)].tolist()
        ids = rng.permutation(ids + ids[:repeats]).tolist()
        for start in range(0, len(ids), 16):
            batch = ids[start : start + 16]
            signals = inputs.visit_signals(len(batch), rng, shares)
            signals = inputs.spoil(batch, signals, dict(spoiled).get(epoch, ()), rng)
            table.observe(epoch, batch, signals)
            steps.append({"epoch": epoch, "ids": batch, "signals": signals})
        if epoch in closes:
            table.close_window()
            steps.append({"close_window": True})
    return {"examples": examples, "ignore": ignore, "window": window, "seed": seed, "truth": truth,
            "steps": steps, "expected": {name: table.importance(name) for name in NOTIONS}}


def notion_cases():
    rng = np.random.default_rng(5)
    case = lambda *args, **options: notion_case(rng, *args, **options)
    return [
        case(1, 3, []),
        case(5, 0, [], seed=3),  # nothing visited
        case(12, 3, [], ignore=3, seed=4),  # nothing but ignored epochs
        case(20, 6, [2], seed=17611),
        case(20, 6, [], ignore=2, seed=2**64 - 1),
        case(23, 8, [2, 5], ignore=1, seed=8271, visited=0.5),
        case(23, 6, [0, 1, 2, 3, 4], seed=1, visited=0.6),  # one visit per window
        case(15, 4, [1, 3], seed=2, visited=0.7),  # ends with an empty window
        case(16, 6, [1, 3], seed=5, repeats=5, visited=0.8),
        case(20, 9, [2, 5], ignore=1, window="run", seed=6, visited=0.4),
        case(24, 7, [2, 4], ignore=1, seed=7, visited=0.7,
             spoiled={0: [2], 1: [0, 1], 3: [3, 4], 5: [5, 6, 0], 6: [7]}),
        case(24, 7, [2, 4], ignore=1, window="run", seed=8, visited=0.6,
             spoiled={0: [2], 1: [0, 1], 4: [3, 4], 6: [5]}),
        case(18, 6, [3], seed=9, visited=0.8, shares=True),
        # Examples 0 and 1 have nothing but bad visits, at first or throughout.
        case(10, 6, [1, 3], seed=10, repeats=2,
             spoiled={0: [0, 1], 1: [0, 1], 2: [1], 3: [1], 4: [1], 5: [1]}),
    ]


def schedule_cases():
    keys = ["epochs", "warmup", "interval", "ignore", "exchange", "needs_importance"]
    rows = [
        (100, 20, 30, 5, False, True),
        (100, 10, 1, 5, False, True),
        (100, 15, 8, 5, True, True),
        (100, 60, 30, 0, False, True),
        (100, 0, 30, 5, False, True),
        (30, 0, 7, 6, True, True),
        (10, 0, 1, 0, False, False),
        (10, 0, 0, 0, False, False),
        (10, 0, 0, 0, True, True),
        (10, 4, 0, 1, False, True),
        (10, 4, 0, 1, True, True),
        (10, 4, 50, 2, False, True),
        (10, 0, 50, 0, True, False),
        (10, 10, 3, 2, True, True),
        (10, 9, 1, 0, True, True),
        (1, 0, 1, 0, False, False),
        (1, 1, 1, 0, False, False),
        (12, 3, 3, 2, False, False),
        (11, 1, 5, 0, True, True),
    ]
    return [dict(zip(keys, row), events=schedule(*row)) for row in rows]


def writable(value):
    """With strings for the numbers that JSON has not."""
    if isinstance(value, dict):
        return {key: writable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [writable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def main(path):
    check_known_answers()
    sections = {"philox": philox_cases, "streams": stream_cases, "partitions": partition_cases,
                "starts": start_cases, "exchanges": exchange_cases, "orders": order_cases, "notions": notion_cases,
                "schedules": schedule_cases}
    texts = []
    for name, make in sections.items():
        lines = [json.dumps(writable(case), separators=(",", ":"), allow_nan=False)
                 for case in make()]
        texts.append(json.dumps(name) + ":[\n" + ",\n".join(lines) + "\n]")
    with open(path, "w", encoding="utf-8") as out:
        out.write("{\n" + ",\n".join(texts) + "\n}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_golden.py OUT.json")
    main(sys.argv[1])
