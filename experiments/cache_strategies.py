#!/usr/bin/env python3
"""What caches save of every placement strategy's reads: MiB from the source, over the network, on disk.

    experiments/cache_strategies.py --out OUT [--impart build/release/bin/impart] [--seeds 1 2 3]

Packs the built-in images `shapes` into shards, which stand for a source that every process reads
from, and trains once per strategy, cache and seed under mpirun, each process with room for 1/8 of
the data on its local disk. Writes OUT/table.md and OUT/table.csv; weights must not depend on the
cache, or it fails. A run that is there already is not repeated.
"""

import argparse
import csv
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

GLOBAL = {"partition.heuristic": "random", "partition.warmup": 0, "partition.interval": 1}
LOCAL = {**GLOBAL, "partition.interval": 0}
STRIPES = {"partition.heuristic": "stripes", "partition.warmup": 2, "partition.interval": 3}
STRATEGIES = {
    "vanilla": GLOBAL,
    "local": LOCAL,
    "stripes I=3": STRIPES,
    "sticky stripes I=3": {**STRIPES, "partition.sticky": "true"},
    "partial Q=0.1": {**LOCAL, "exchange.strategy": "partial", "exchange.fraction": 0.1},
    "ilag-pair Q=0.1": {**LOCAL, "exchange.strategy": "ilag-pair", "exchange.fraction": 0.1,
                        "importance.notion": "loss-last"},
    "local, infobatch": {**LOCAL, "selection.strategy": "infobatch", "selection.final": 0},
}


def caches(mebibytes):
    """Name, settings."""
    disk = {"store.cache_path": "cache", "store.cache_disk": mebibytes}
    yield "no cache", {}
    yield "clock", disk
    yield "pin", {**disk, "store.cache_policy": "pin", "store.move_from": "source"}
    yield "pin, peers", {**disk, "store.cache_policy": "pin", "store.move_from": "peer",
                         "store.cooperative": "true"}
    yield "importance", {**disk, "store.cache_policy": "importance", "store.move_from": "source"}


def slug(name):
    return "".join(c if c.isalnum() else "-" for c in name.lower())


def start(arguments, folder, settings):
    command = [arguments.impart, "train", "--overwrite", *(f"{k}={v}" for k, v in settings.items())]
    if arguments.processes > 1:
        command = ["mpirun", "-n", arguments.processes, *command]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    subprocess.run(list(map(str, command)), check=True, env=environment, cwd=folder,
                   stdout=subprocess.DEVNULL)


def run(arguments, strategy, cache, settings, seed):
    output = arguments.out / "runs" / f"{slug(strategy)}-{slug(cache)}-{seed}"
    if (output / "DONE").exists():
        return output
    shutil.rmtree(arguments.out / "cache", ignore_errors=True)
    start(arguments, arguments.out, {
        "name": slug(strategy), "seed": seed, "epochs": arguments.epochs, "threads": 1,
        "data.name": "mds", "data.root": "shards", "model.name": arguments.model,
        "workers.count": 4, "workers.batch": 32, "workers.reduce": "exact", "optimizer.lr": 0.02,
        "importance.ignore": 0, "importance.images": 0, "checkpoint.every": 0, "store.files": "true",
        "store.cache": 0, "output": output, **settings})
    return output


def measure(output):
    summary = json.loads((output / "summary.json").read_text())
    ledger = [json.loads(line) for line in (output / "ledger.jsonl").read_text().splitlines()]

    def total(key, epochs=ledger):
        return sum(worker[key] for line in epochs for worker in line["workers"])

    later = ledger[1:]
    hits = {tier: total(tier, later) for tier in ("cache_hits", "cache_hits_disk", "cache_hits_peers")}
    reads = sum(hits.values()) + total("cache_misses", later)
    return {
        "source MiB": total("bytes_source") / 2**20,
        "network MiB": total("bytes_peers") / 2**20,
        "disk read MiB": total("bytes_local") / 2**20,
        "disk written MiB": total("bytes_written") / 2**20,
        "own hits %": 100 * (hits["cache_hits"] + hits["cache_hits_disk"]) / reads,
        "peers' hits %": 100 * hits["cache_hits_peers"] / reads,
        "final %": summary["final_accuracy"],
        "sha": summary["weights_sha256"],
    }


def mean_rows(arguments, mebibytes):
    for strategy, settings in STRATEGIES.items():
        hashes = {}
        for cache, cached in caches(mebibytes):
            found = [measure(run(arguments, strategy, cache, {**settings, **cached}, seed))
                     for seed in arguments.seeds]
            shas = [one.pop("sha") for one in found]
            if hashes.setdefault(strategy, shas) != shas:
                raise SystemExit(f"{strategy}: with {cache} the weights are others than without a cache")
            row = {"strategy": strategy, "cache": cache}
            for key in found[0]:
                row[key] = statistics.fmean(one[key] for one in found)
            print(row, flush=True)
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impart", default="build/release/bin/impart", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    arguments.impart, arguments.out = arguments.impart.resolve(), arguments.out.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    shards = arguments.out / "shards"
    if not shards.exists():
        subprocess.run([arguments.impart, "data", "pack", "shapes", shards], check=True)
    mebibytes = max(1, round(sum(f.stat().st_size for f in (shards / "train").glob("*.mds")) / 8 / 2**20))

    rows = list(mean_rows(arguments, mebibytes))
    with open(arguments.out / "table.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    for row in rows:
        cells = [f"{v:.1f}" if isinstance(v, float) else str(v) for v in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    (arguments.out / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
