#!/usr/bin/env python3
"""What caches save of every placement strategy's reads: MiB from a server, over the network, on disk.

    experiments/cache_strategies.py --out OUT [--impart build/release/bin/impart] [--seeds 1 2 3]
        [--data DATA/cifar10] [--only REGEX --kept RUNS.csv]

Packs a data set (the built-in images `shapes` if none is given) into shards, serves them with an
nginx on 127.0.0.1, and trains once per strategy, cache and seed under mpirun, each process with room
for 1/8 of the data on its local disk. Writes OUT/table.md and OUT/table.csv, means over seeds, and
OUT/runs.csv. It fails if weights depend on the cache, or if the server sent other bytes than the
ledger says, by more than 1 %. A run that is there already is not repeated. With --only the arms in
whose "STRATEGY, CACHE" the expression is found are run; rows of the others are those of --kept.
"""

import argparse
import csv
import itertools
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "data" / "remote"))
from nginx_server import NginxServer  # noqa: E402
from runs import SHARING_CORES, count, read_lines, read_summary, slug, train, write_markdown  # noqa: E402

GLOBAL = {"partition.heuristic": "random", "partition.warmup": 0, "partition.interval": 1}
LOCAL = {**GLOBAL, "partition.interval": 0}
EXCHANGE = {**LOCAL, "exchange.fraction": 0.1, "importance.notion": "loss-last"}
STRIPES = {"partition.heuristic": "stripes", "partition.warmup": 2, "partition.interval": 3}
STRATEGIES = {
    "vanilla": GLOBAL,
    "local": LOCAL,
    "stripes I=3": STRIPES,
    "sticky stripes I=3": {**STRIPES, "partition.sticky": "true"},
    "blocks I=3": {**STRIPES, "partition.heuristic": "blocks"},
    "partial Q=0.1": {**LOCAL, "exchange.strategy": "partial", "exchange.fraction": 0.1},
    "ilag-pair Q=0.1": {**EXCHANGE, "exchange.strategy": "ilag-pair"},
    "is-pair Q=0.1": {**EXCHANGE, "exchange.strategy": "is-pair"},
    "balance-pair Q=0.1": {**EXCHANGE, "exchange.strategy": "balance-pair"},
    "local, infobatch": {**LOCAL, "selection.strategy": "infobatch", "selection.final": 0},
}


TEXTS = ["strategy", "cache", "sha"]  # columns of runs.csv; the others are numbers


def caches(mebibytes, settings):
    """Name, settings. Without a selection `importance` is `pin`; parts that are all new, or never
    are, have nothing to fetch from an old owner."""
    disk = {"store.cache_path": "cache", "store.cache_disk": mebibytes}
    yield "no cache", {}
    yield "clock", disk
    yield "pin", {**disk, "store.cache_policy": "pin", "store.move_from": "source"}
    yield "pin, peers", {**disk, "store.cache_policy": "pin", "store.move_from": "peer",
                         "store.cooperative": "true"}
    if "exchange.strategy" in settings or settings["partition.interval"] > 1:
        yield "pin, moved from peers", {**disk, "store.cache_policy": "pin", "store.move_from": "peer"}
    if "selection.strategy" in settings:
        yield "importance", {**disk, "store.cache_policy": "importance", "store.move_from": "source"}


def run(arguments, strategy, cache, settings, seed):
    output = arguments.out / "runs" / f"{slug(strategy)}-{slug(cache)}-{seed}"
    if (output / "DONE").exists():
        return output
    shutil.rmtree(arguments.out / "cache", ignore_errors=True)
    arguments.server.clear_log()
    train(arguments.impart, {
        "name": slug(strategy), "seed": seed, "epochs": arguments.epochs, "threads": 1,
        "data.name": "mds", "data.root": f"{arguments.server.url}/shards",
        "data.limit": arguments.limit, "model.name": arguments.model,
        "workers.count": 4, "workers.batch": arguments.batch, "workers.reduce": "exact", "optimizer.lr": 0.05,
        "importance.ignore": 0, "importance.images": 0, "checkpoint.every": 0,
        "eval.every": arguments.epochs, "store.files": "true",
        "store.cache": 0, "store.prefetch": arguments.prefetch, "output": output, **settings},
          arguments.processes, {**SHARING_CORES, "NO_PROXY": "127.0.0.1"}, arguments.out)
    (output / "sent.json").write_text(json.dumps(arguments.server.sent("/shards/train/shard.")))
    return output


def measure(output):
    summary, ledger = read_summary(output), read_lines(output, "ledger.jsonl")
    received = count(ledger, "bytes_source")
    sent = json.loads((output / "sent.json").read_text())[1]
    if abs(received / sent - 1) > 0.01:
        raise SystemExit(f"{output}: the server sent {sent} bytes, the ledger has {received}")
    later = ledger[1:]
    hits = {tier: count(later, tier) for tier in ("cache_hits", "cache_hits_disk", "cache_hits_peers")}
    reads = sum(hits.values()) + count(later, "cache_misses")
    return {
        "source MiB": received / 2**20,
        "network MiB": count(ledger, "bytes_peers") / 2**20,
        "disk read MiB": count(ledger, "bytes_local") / 2**20,
        "disk written MiB": count(ledger, "bytes_written") / 2**20,
        "own hits %": 100 * (hits["cache_hits"] + hits["cache_hits_disk"]) / reads,
        "peers' hits %": 100 * hits["cache_hits_peers"] / reads,
        "requests": sum(process["requests_source"] for line in ledger for process in line["processes"]),
        "final %": summary["final_accuracy"],
        "sha": summary["weights_sha256"],
    }


def arms(mebibytes):
    """Strategy, cache, settings."""
    for strategy, settings in STRATEGIES.items():
        for cache, cached in caches(mebibytes, settings):
            yield strategy, cache, {**settings, **cached}


def arm_of(row):
    return row["strategy"], row["cache"]


def run_rows(arguments, mebibytes, kept):
    """One row for each arm and seed, those of arms that are not run from `kept`."""
    for strategy, cache, settings in arms(mebibytes):
        if not re.search(arguments.only, f"{strategy}, {cache}"):
            yield from (row for row in kept if arm_of(row) == (strategy, cache))
            continue
        for seed in arguments.seeds:
            row = {"strategy": strategy, "cache": cache, "seed": seed,
                   **measure(run(arguments, strategy, cache, settings, seed))}
            print(row, flush=True)
            yield row


def check_hashes(rows):
    hashes = {}
    for row in rows:
        if hashes.setdefault((row["strategy"], row["seed"]), row["sha"]) != row["sha"]:
            raise SystemExit(f"{row['strategy']}, seed {row['seed']}: with {row['cache']} the weights are others")


def mean_rows(rows):
    for (strategy, cache), group in itertools.groupby(rows, arm_of):
        found = list(group)
        row = {"strategy": strategy, "cache": cache}
        for key in [key for key in found[0] if key not in [*row, "seed", "sha"]]:
            row[key] = statistics.fmean(one[key] for one in found)
        row["±"] = statistics.stdev(one["final %"] for one in found) if len(found) > 1 else 0.0
        yield row


def read_rows(path):
    with open(path, newline="") as file:
        return [{key: text if key in TEXTS else json.loads(text) for key, text in row.items()}
                for row in csv.DictReader(file)]


def write_rows(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}
                         for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impart", default="build/release/bin/impart", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--data", help="a folder of CIFAR-10 instead of shapes")
    parser.add_argument("--limit", type=int, default=0, help="use only the first so many examples")
    parser.add_argument("--prefetch", type=int, default=1, help="store.prefetch, in MiB")
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--only", default="", help="run only arms in whose 'STRATEGY, CACHE' this expression is found")
    parser.add_argument("--kept", type=pathlib.Path, help="an earlier runs.csv, for the arms that are not run")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    arguments.impart, arguments.out = arguments.impart.resolve(), arguments.out.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    shards = arguments.out / "shards"
    if not shards.exists():
        subprocess.run([arguments.impart, "data", "pack", arguments.data or "shapes", shards], check=True)
        subprocess.run([arguments.impart, "data", "index", shards], check=True)
    examples = json.loads((shards / "train" / "index.json").read_text())["shards"]
    packed = sum(shard["samples"] for shard in examples)
    used = min(arguments.limit or packed, packed) / packed
    mebibytes = max(1, round(sum(f.stat().st_size for f in (shards / "train").glob("*.mds")) * used / 8 / 2**20))
    shutil.rmtree(arguments.out / "nginx", ignore_errors=True)
    arguments.server = NginxServer(arguments.out, arguments.out / "nginx")

    try:
        runs = list(run_rows(arguments, mebibytes, read_rows(arguments.kept) if arguments.kept else []))
    finally:
        arguments.server.close()
    check_hashes(runs)
    rows = list(mean_rows(runs))
    write_rows(arguments.out / "table.csv", rows)
    write_rows(arguments.out / "runs.csv", runs)
    write_markdown(arguments.out / "table.md", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
