#!/usr/bin/env python3
"""How often caches are hit, beside what `impart io` predicts and what theory says.

    experiments/cache_hits.py --data DATA/cifar10 --out OUT [--impart build/release/bin/impart]

Trains an MLP of 4 workers on 40 960 images of CIFAR-10 (3 072 bytes each, 120 MiB, so that 10, 20,
50 and 12.5 % are whole MiB), read from its files through caches in memory: every policy in one
process, and caches of 12.5 % in each of four. Before them each setting is trained without a cache,
with importance.history=true. Writes OUT/table.md and OUT/table.csv: hits of the epochs after the
first two in percent of their reads (in the second nothing was known yet of what a selection visits),
and bytes from the source of the whole run, beside those that `impart io` predicts from made
importance, and from the losses that were recorded without a cache (`--importance-of`).
`infobatch still` is a model that learns next to nothing (a learning rate of 1e-6, no augmentation),
so that easy examples stay easy.

Says what is not as expected: pinned hits that are not exactly the size of the cache in every epoch,
hits further than 3 points from what is expected, weights that depend on a cache, and predicted bytes
that differ from the measured ones by more than 1 %: from recorded losses always, from made
importance without a selection, which is about how many examples are below the mean.
"""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys

from runs import SHARING_CORES, count, read_lines, read_summary, slug, train

EXAMPLES, PAYLOAD, WORKERS = 40960, 3072, 4
DATA_MIB = EXAMPLES * PAYLOAD >> 20
GLOBAL = {"partition.heuristic": "random", "partition.warmup": 0, "partition.interval": 1}
LOCAL = {**GLOBAL, "partition.interval": 0}
STILL = {"optimizer.lr": 1e-6, "data.augment": "none"}
INFOBATCH = {**LOCAL, "selection.strategy": "infobatch", "selection.share": 0.5, "selection.final": 0}
POINTS, DEVIATION = 3.0, 1.0  # at most, in percent


def lru(share):
    return share + (1 - share) * math.log(1 - share)


def cases():
    """Name, processes, share of the data in each process's cache, expected hits, settings."""
    for share in [0.1, 0.2, 0.5]:
        yield "global, clock", 1, share, 100 * lru(share), GLOBAL
        yield "global, pin", 1, share, 100 * share, {**GLOBAL, "store.cache_policy": "pin"}
    for share in [0.1, 0.2, 0.5]:
        yield "infobatch, clock", 1, share, None, INFOBATCH
        yield "infobatch, pin", 1, share, 100 * share, {**INFOBATCH, "store.cache_policy": "pin"}
        yield "infobatch, importance", 1, share, 400 / 3 * share, {
            **INFOBATCH, "store.cache_policy": "importance"}
        yield "infobatch still, importance", 1, share, 400 / 3 * share, {
            **INFOBATCH, **STILL, "store.cache_policy": "importance"}
    for parts, placement, alone in [("global", GLOBAL, 12.5), ("fixed parts", LOCAL, 50.0)]:
        pin = {**placement, "store.cache_policy": "pin"}
        yield f"{parts}, pin", WORKERS, 0.125, alone, pin
        yield f"{parts}, pin, cooperative", WORKERS, 0.125, 50.0, {**pin, "store.cooperative": "true"}


def chosen(arguments, share, settings):
    return {"seed": 1, "epochs": arguments.epochs, "data.name": "cifar10",
            "data.root": arguments.data, "data.limit": EXAMPLES, "model.name": "mlp",
            "workers.count": WORKERS, "workers.batch": 64, "workers.reduce": "exact",
            "optimizer.lr": 0.02, "importance.ignore": 0, "importance.images": 0,
            "checkpoint.every": 0, "eval.every": arguments.epochs, "store.files": "true",
            "store.cache": round(share * DATA_MIB), "threads": 1, **settings}


def run(arguments, name, processes, share, settings):
    """The folder of the run, which is trained unless it is there."""
    output = arguments.out / "runs" / f"{slug(name)}-{processes}-{round(1000 * share)}"
    if not (output / "DONE").exists():
        keys = {**chosen(arguments, share, settings), "output": output}
        train(arguments.impart, keys, processes, SHARING_CORES)
    return output


def predict(arguments, processes, settings, *more):
    """Bytes from the source."""
    command = [arguments.impart, "io", *(f"{k}={v}" for k, v in settings.items()), "--strategy", "config",
               "--processes", processes, "--json", *more]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["strategies"][0]["run_replicated_source_bytes"]


def predict_from_made(arguments, processes, share, settings):
    keys = {**chosen(arguments, share, settings), "data.root": "", "data.limit": 0}
    return predict(arguments, processes, keys, "--examples", EXAMPLES, "--payload", PAYLOAD)


def predict_from_recorded(arguments, recorded, processes, share, settings):
    caches = {key: value for key, value in settings.items() if key.startswith("store.")}
    return predict(arguments, processes, {**caches, "store.cache": round(share * DATA_MIB)},
                   "--importance-of", recorded)


def record(arguments, name, settings):
    """The folder of the run with these settings that has no cache."""
    without = {key: value for key, value in settings.items() if not key.startswith("store.")}
    return run(arguments, name.split(",")[0] + ", recorded", 1, 0, {**without, "importance.history": "true"})


def measure(arguments, name, processes, share, expected, settings):
    recorded = record(arguments, name, settings)
    output = run(arguments, name, processes, share, settings)
    summary, ledger = read_summary(output), read_lines(output, "ledger.jsonl")
    later = ledger[2:]
    own = count(later, "cache_hits")
    peers = count(later, "cache_hits_peers")
    reads = own + peers + count(later, "cache_misses")
    measured = summary["bytes_source"]
    made = predict_from_made(arguments, processes, share, settings)
    found = predict_from_recorded(arguments, recorded, processes, share, settings)
    row = {"run": name, "processes": processes, "cache %": 100 * share, "expected %": expected,
           "own hits %": 100 * own / reads, "peers' hits %": 100 * peers / reads,
           "source MiB": measured / 2**20, "of made importance": made / 2**20,
           "deviation %": 100 * (made / measured - 1), "of recorded losses": found / 2**20,
           "their deviation %": 100 * (found / measured - 1)}
    kept = round(share * EXAMPLES)
    hits = [count([line], "cache_hits") for line in ledger[1:]]
    hashes = {summary["weights_sha256"], read_summary(recorded)["weights_sha256"]}
    return row, hashes, hits == [kept] * len(hits)


def faults_of(row, exact):
    hits = row["own hits %"] + row["peers' hits %"]
    if row["expected %"] is not None and abs(hits - row["expected %"]) > POINTS:
        yield f"{hits:.1f} % hits instead of {row['expected %']:.1f} %"
    if row["run"] == "global, pin" and row["processes"] == 1 and not exact:
        yield "pinned hits are not the size of the cache in every epoch"
    deviations = [row["their deviation %"]]
    if "infobatch" not in row["run"]:
        deviations.append(row["deviation %"])
    for deviation in deviations:
        if abs(deviation) > DEVIATION:
            yield f"predicted and measured bytes differ by {deviation:.2f} %"


def text(value):
    return "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impart", default="build/release/bin/impart", type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--only", default="", help="runs whose names begin with this")
    arguments = parser.parse_args()
    arguments.impart, arguments.out = arguments.impart.resolve(), arguments.out.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)

    rows, weights, faults = [], {}, []
    for name, processes, share, expected, settings in cases():
        if not name.startswith(arguments.only):
            continue
        row, hashes, exact = measure(arguments, name, processes, share, expected, settings)
        rows.append(row)
        print(row, flush=True)
        faults += [f"{name}, {100 * share} %: {fault}" for fault in faults_of(row, exact)]
        placement = name.split(",")[0]
        if weights.setdefault(placement, hashes) != hashes or len(hashes) > 1:
            faults.append(f"{name}, {100 * share} %: other weights than without that cache")
    with open(arguments.out / "table.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
                         for row in rows)
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(map(text, row.values())) + " |" for row in rows]
    (arguments.out / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    print("\n".join(faults) if faults else "all as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
