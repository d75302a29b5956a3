#!/usr/bin/env python3
"""What every placement strategy costs and saves: disk, network, messages, seconds, accuracy.

    experiments/io_strategies.py --data cifar10=DATA/cifar10 --out OUT [--processes 4] [--epochs 36]

Trains the same model once per strategy under mpirun, every worker with its part of the data in a
folder of its own, and once as vanilla training does it, every worker reading all examples from the
data set's files. Writes OUT/table.md and OUT/table.csv: measured bytes (ledger.jsonl) beside those
that `impart io` predicts from the recorded decisions. A run that is there already is not repeated.
"""

import argparse
import csv
import pathlib
import shutil
import sys

from runs import ANYWHERE, count, read_lines, read_summary, slug, train, write_markdown

LOCAL = {"partition.heuristic": "random", "partition.warmup": 0, "partition.interval": 0}


def strategies(warmup):
    """Name, settings; the first reads from the data set's files, all others have parts."""
    yield "vanilla, files", {
        "partition.heuristic": "random", "partition.warmup": 0, "partition.interval": 1,
        "store.kind": "replicated", "store.files": "true", "store.cache": 0}
    yield "vanilla, parts", {
        "partition.heuristic": "random", "partition.warmup": 0, "partition.interval": 1}
    yield "local", LOCAL
    for name, heuristic, interval, sticky in [
            ("stripes I=5", "stripes", 5, False), ("stripes I=10", "stripes", 10, False),
            ("stripes I=30", "stripes", 30, False), ("sticky stripes I=5", "stripes", 5, True),
            ("sticky stripes I=10", "stripes", 10, True), ("blocks I=5", "blocks", 5, False),
            ("blocks I=30", "blocks", 30, False)]:
        yield name, {
            "partition.heuristic": heuristic, "partition.warmup": warmup,
            "partition.interval": interval, "partition.sticky": str(sticky).lower()}
    for strategy in ["partial", "is", "is-pair", "ilag-pair", "balance-pair"]:
        for fraction in [0.1, 0.3]:
            yield f"{strategy} Q={fraction}", {
                **LOCAL, "exchange.strategy": strategy, "exchange.fraction": fraction,
                "importance.notion": "loss-last", "importance.ignore": 0}


def run(arguments, name, settings, seed):
    output = arguments.out / "runs" / f"{slug(name)}-{seed}"
    if (output / "DONE").exists():
        return output
    parts = arguments.out / "parts"
    shutil.rmtree(parts, ignore_errors=True)
    data_name, root = arguments.data.split("=", 1)
    keys = {
        "name": slug(name), "seed": seed, "epochs": arguments.epochs, "threads": 1,
        "data.name": data_name, "data.root": root, "data.limit": arguments.limit,
        "model.name": arguments.model, "workers.count": 4, "workers.batch": 64,
        "optimizer.lr": 0.02, "importance.ignore": 1, "eval.every": 1,
        "checkpoint.every": 0, "store.kind": "partitioned", "store.path": parts, "output": output,
        **settings}
    if keys["store.kind"] == "replicated":
        del keys["store.path"]
    train(arguments.impart, keys, arguments.processes, ANYWHERE)
    shutil.rmtree(parts, ignore_errors=True)
    return output


def measure(output):
    summary = read_summary(output)
    ledger, metrics = read_lines(output, "ledger.jsonl"), read_lines(output, "metrics.jsonl")

    def seconds(phase):
        return sum(max(p["seconds"][phase] for p in line["processes"]) for line in ledger)

    moved = sum(line["placement"]["moved"] for line in metrics if "placement" in line)
    stored = any(worker["peak_stored"] for line in ledger for worker in line["workers"])
    payload = summary["payload_bytes_total"] / summary["examples"]
    return {
        "source MiB": count(ledger, "bytes_source") / 2**20,
        "local read MiB": count(ledger, "bytes_local") / 2**20,
        "local written MiB": count(ledger, "bytes_written") / 2**20,
        "network MiB": count(ledger, "bytes_sent") / 2**20,
        "predicted MiB": moved * (payload + 8) / 2**20 if stored else 0.0,
        "flows": count(ledger, "flows_sent"),
        "moved": count(ledger, "examples_sent"),
        "peak stored": max(w["peak_stored"] for line in ledger for w in line["workers"]),
        "exchange s": seconds("exchange"),
        "importance pass s": seconds("importance_pass"),
        "data wait s": seconds("data_wait"),
        "train s": summary["seconds_train"],
        "total s": summary["seconds_total"],
        "best %": summary["best_accuracy"],
        "final %": summary["final_accuracy"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impart", default="build/release/bin/impart")
    parser.add_argument("--data", required=True, metavar="NAME=ROOT")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--model", default="small-cnn")
    parser.add_argument("--limit", type=int, default=8000)
    parser.add_argument("--epochs", type=int, default=36)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    rows = []
    for seed in arguments.seeds:
        for name, settings in strategies(arguments.warmup):
            output = run(arguments, name, settings, seed)
            rows.append({"strategy": name, "seed": seed, **measure(output)})
    with open(arguments.out / "table.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    write_markdown(arguments.out / "table.md", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
