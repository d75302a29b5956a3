#!/usr/bin/env python3
"""How long training waits for data from a far server, with and without reading ahead.

    experiments/remote_prefetch.py --data DATA/cifar10 --out OUT [--impart build/release/bin/impart]

Packs some of CIFAR-10 as PNG into shards and serves them on 127.0.0.1 with 20 ms before every answer
and 200 MB/s for all answers together (the server of the tests; needs Pillow for the PNG). Trains a ResNet-18 on the CPU for two epochs,
once with `store.prefetch` as it is and once with 0, without a cache and with pinned ones, and prints what
share of the epochs is `data_wait`. Weights must be the same.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "data" / "remote"))
from object_server import ObjectServer  # noqa: E402

CACHES = {"no cache": {"store.cache": 0},
          "pin": {"store.cache": 1, "store.cache_policy": "pin"}}


def write_pictures(data, folder, train, test):
    """The first images of CIFAR-10 in folders of classes."""
    from PIL import Image
    for part, file, count in [("train", "data_batch_1.bin", train), ("val", "test_batch.bin", test)]:
        records = (pathlib.Path(data) / file).read_bytes()
        for i in range(count):
            record = records[3073 * i : 3073 * (i + 1)]
            place = folder / part / f"class{record[0]}"
            place.mkdir(parents=True, exist_ok=True)
            planes = [Image.frombytes("L", (32, 32), record[at : at + 1024]) for at in (1, 1025, 2049)]
            Image.merge("RGB", planes).save(place / f"{i:05}.png")


def train(arguments, server, name, settings):
    output = arguments.out / "runs" / name
    keys = {"data.name": "mds", "data.root": server.url, "data.image_size": 32, "model.name": arguments.model, "model.stem": arguments.stem, "workers.count": 4,
            "workers.batch": 32, "epochs": arguments.epochs, "partition.warmup": 0,
            "partition.interval": 0, "threads": arguments.threads, "eval.every": arguments.epochs,
            "checkpoint.every": 0, "importance.images": 0, "store.files": "true", "output": output,
            **settings}
    keys = {key: value for key, value in keys.items() if value != ""}
    server.requests.clear()
    server.sent = 0
    subprocess.run(
        [arguments.impart, "train", "--overwrite", *(f"{k}={v}" for k, v in keys.items())],
        env={**os.environ, **server.environment()}, check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((output / "summary.json").read_text())
    ledger = [json.loads(line) for line in (output / "ledger.jsonl").read_text().splitlines()]
    phases = ["step", "forward", "backward", "weight_exchange", "weight_update", "data_wait"]
    seconds = [process["seconds"] for line in ledger for process in line["processes"]]
    shares = [100 * one["data_wait"] / sum(one[phase] for phase in phases) for one in seconds]
    return {"seconds": sum(sum(one[phase] for phase in phases) for one in seconds),
            "data_wait": sum(one["data_wait"] for one in seconds), "by epoch %": shares,
            "requests": len(server.requests), "source MiB": summary["bytes_source"] / 2**20,
            "sha": summary["weights_sha256"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impart", default="build/release/bin/impart", type=pathlib.Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=2048)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--stem", default="imagenet")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--latency", type=float, default=0.020, help="seconds")
    parser.add_argument("--rate", type=float, default=200e6, help="bytes per second")
    arguments = parser.parse_args()
    arguments.impart, arguments.out = arguments.impart.resolve(), arguments.out.resolve()
    shards = arguments.out / "shards"
    if not shards.exists():
        arguments.out.mkdir(parents=True, exist_ok=True)
        write_pictures(arguments.data, arguments.out / "pictures", arguments.examples, 40)
        subprocess.run([arguments.impart, "data", "pack", arguments.out / "pictures", shards], check=True)
        subprocess.run([arguments.impart, "data", "index", shards], check=True)
    server = ObjectServer(shards)
    server.delay, server.rate = arguments.latency, arguments.rate

    print("| cache | store.prefetch | seconds of training | waiting for data | by epoch | requests | "
          "MiB from the server |")
    print("|---|---|---|---|---|---|---|")
    hashes = set()
    for cache, settings in CACHES.items():
        for prefetch in [64, 0]:
            found = train(arguments, server, f"{cache}-{prefetch}".replace(" ", "-"),
                          {**settings, "store.prefetch": prefetch})
            hashes.add(found["sha"])
            print(f"| {cache} | {prefetch} | {found['seconds']:.1f} | "
                  f"{100 * found['data_wait'] / found['seconds']:.1f} % | "
                  + ", ".join(f"{share:.1f}" for share in found["by epoch %"])
                  + f" % | {found['requests']} | {found['source MiB']:.1f} |", flush=True)
    server.close()
    if len(hashes) != 1:
        raise SystemExit("the weights are not the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
