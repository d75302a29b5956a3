#!/usr/bin/env python3
"""What caches save of every placement strategy's reads: MiB from a server, over the network, on disk.

    experiments/cache_strategies.py --out OUT [--impart build/release/bin/impart] [--seeds 1 2 3]
        [--data DATA/cifar10]

Packs a data set (the built-in images `shapes` if none is given) into shards, serves them with an
nginx on 127.0.0.1, and trains once per strategy, cache and seed under mpirun, each process with room
for 1/8 of the data on its local disk. Writes OUT/table.md and OUT/table.csv, means over seeds, and
OUT/runs.csv. It fails if weights depend on the cache, or if the server sent other bytes than the
ledger says, by more than 1 %. A run that is there already is not repeated.
"""

import argparse
import csv
import json
import pathlib
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


def caches(mebibytes, selects):
    """Name, settings. Without a selection `importance` is `pin`."""
    disk = {"store.cache_path": "cache", "store.cache_disk": mebibytes}
    yield "no cache", {}
    yield "clock", disk
    yield "pin", {**disk, "store.cache_policy": "pin", "store.move_from": "source"}
    yield "pin, peers", {**disk, "store.cache_policy": "pin", "store.move_from": "peer",
                         "store.cooperative": "true"}
    if not selects:
        return
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


def mean_rows(arguments, mebibytes, runs):
    for strategy, settings in STRATEGIES.items():
        hashes = {}
        for cache, cached in caches(mebibytes, "selection.strategy" in settings):
            found = [measure(run(arguments, strategy, cache, {**settings, **cached}, seed))
                     for seed in arguments.seeds]
            runs += [{"strategy": strategy, "cache": cache, "seed": seed, **one}
                     for seed, one in zip(arguments.seeds, found)]
            shas = [one["sha"] for one in found]
            if hashes.setdefault(strategy, shas) != shas:
                raise SystemExit(f"{strategy}: with {cache} the weights are others than without a cache")
            row = {"strategy": strategy, "cache": cache}
            for key in [key for key in found[0] if key != "sha"]:
                row[key] = statistics.fmean(one[key] for one in found)
            row["±"] = statistics.stdev(one["final %"] for one in found) if len(found) > 1 else 0.0
            print(row, flush=True)
            yield row


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

    runs = []
    try:
        rows = list(mean_rows(arguments, mebibytes, runs))
    finally:
        arguments.server.close()
    write_rows(arguments.out / "table.csv", rows)
    write_rows(arguments.out / "runs.csv", runs)
    write_markdown(arguments.out / "table.md", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
