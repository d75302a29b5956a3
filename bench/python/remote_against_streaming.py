#!/usr/bin/env python3
"""Photographs from a server with a cache for a fifth of them: impart beside mosaicml-streaming.

    python bench/python/remote_against_streaming.py --impart build/release/bin/impart --out OUT

A Python with mosaicml-streaming, torch, torchvision and Pillow; and nginx. Makes JPEGs of 500x375
(about 100 kB each) in ten classes of different sizes, packs them into shards of 1 MiB, and serves
these with one nginx on 127.0.0.1, whose log counts. Each of these then visits all of them three
times in random order as crops of 64x64, with two threads or processes that decode:

    impart       trains an MLP; the time is that of the whole command, with its start
    streaming    StreamingDataset in a DataLoader, without a model; as it is by default, and with a
                 weaker shuffle: blocks of half and of a quarter of what its cache holds, the last
                 downloading no further ahead than that. The time begins with the data set
    torchvision  ImageFolder in a DataLoader, from local files

Before anything is timed the classes of what each one visits are counted, and impart's weights from
the server compared with those from the folder. Rounds are made in turns and added to OUT/rounds.csv;
medians of all that are there are printed. A loop that breaks off is said to, and does not count.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "data" / "images"), str(ROOT / "tests" / "data" / "remote")]
EPOCHS, SIDE, BATCH, READERS, SHARE = 3, 64, 64, 2, 0.2
COLUMNS = ["way", "seconds", "bytes", "requests"]  # of rounds.csv
SHARD = 1 << 20


def make_photos(folder, count):
    """Class c has c + 5 of every 95 photographs."""
    from photos import natural_picture
    labels = [c for c in range(10) for _ in range(c + 5)]
    for i in range(count):
        place = folder / "train" / f"class{labels[i % len(labels)]}"
        place.mkdir(parents=True, exist_ok=True)
        natural_picture(500, 375, seed=i).save(place / f"{i:05}.jpg", quality=95)
    for c in range(10):
        (folder / "val" / f"class{c}").mkdir(parents=True)
        first = next((folder / "train" / f"class{c}").iterdir())
        shutil.copy(first, folder / "val" / f"class{c}" / "0.jpg")


def counts_of(folder):
    return [len(list((folder / "train" / f"class{c}").iterdir())) for c in range(10)]


# Loops of the others, each in a process of its own.

def visit(loader_of_epoch):
    classes, start = [], time.perf_counter()
    for epoch in range(EPOCHS):
        seen = collections.Counter()
        for images, labels in loader_of_epoch(epoch):
            assert images.shape[1:] == (3, SIDE, SIDE)
            seen.update(labels.tolist())
        classes.append([seen[c] for c in range(10)])
    return {"classes": classes, "seconds": time.perf_counter() - start}


def transform():
    import torchvision.transforms as T
    return T.Compose([T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(), T.ToTensor()])


def loop_torchvision(arguments):
    import torch
    import torchvision
    data = torchvision.datasets.ImageFolder(arguments.out / "photos" / "train", transform())
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, num_workers=READERS)
    return visit(lambda epoch: loader)


def loop_streaming(arguments):
    import torch
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    class Photos(StreamingDataset):
        view = transform()

        def __getitem__(self, at):
            sample = super().__getitem__(at)
            return self.view(sample["image"].convert("RGB")), sample["label"]

    clean_stale_shared_memory()
    local = arguments.out / "streaming-cache"
    shutil.rmtree(local, ignore_errors=True)
    start = time.perf_counter()
    data = Photos(remote="s3://shards/train", local=str(local), shuffle=True, batch_size=BATCH,
                  cache_limit=arguments.cache, shuffle_block_size=arguments.block,
                  predownload=arguments.predownload)
    loader = torch.utils.data.DataLoader(data, BATCH, num_workers=READERS)
    found = visit(lambda epoch: loader)
    found["seconds"] = time.perf_counter() - start
    return found


LOOPS = {"torchvision": loop_torchvision, "streaming": loop_streaming}


class Bench:
    def __init__(self, arguments):
        from nginx_server import NginxServer
        self.arguments, self.out = arguments, arguments.out
        self.photos, self.shards = self.out / "photos", self.out / "shards"
        self.rounds = self.out / "rounds.csv"
        if not self.rounds.exists():
            self.add_row(COLUMNS)
        if not self.shards.exists():
            make_photos(self.photos, arguments.examples)
            subprocess.run([arguments.impart, "data", "pack", self.photos, self.shards,
                            "--shard-bytes", str(SHARD)], check=True)
            subprocess.run([arguments.impart, "data", "index", self.shards], check=True)
        self.counts = counts_of(self.photos)
        self.bytes = sum(f.stat().st_size for f in (self.shards / "train").glob("*.mds"))
        self.mebibytes = round(SHARE * self.bytes / 2**20)
        shutil.rmtree(self.out / "nginx", ignore_errors=True)
        self.server = NginxServer(self.out, self.out / "nginx")

    def add_row(self, row):
        with open(self.rounds, "a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(row)

    def environment(self):
        return {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
                "S3_ENDPOINT_URL": self.server.url, "AWS_ACCESS_KEY_ID": "none",
                "AWS_SECRET_ACCESS_KEY": "none", "AWS_REGION": "eu-test-1",
                "AWS_DEFAULT_REGION": "eu-test-1"}

    def loop(self, name, *more):
        done = subprocess.run(
            [sys.executable, __file__, "--impart", self.arguments.impart, "--out", self.out,
             "--loop", name, "--cache", str(self.mebibytes << 20), *more], env=self.environment(),
            check=False, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{name} failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
            return None
        found = json.loads(done.stdout.splitlines()[-1])
        if found["classes"] != [self.counts] * EPOCHS:
            raise SystemExit(f"{name} did not visit every photograph once an epoch: {found['classes']}")
        return found["seconds"]

    def impart(self, root, epochs=EPOCHS, **changes):
        """Its summary, and seconds."""
        for place in ["run", "cache"]:
            shutil.rmtree(self.out / place, ignore_errors=True)
        keys = {"data.name": "mds", "data.root": root, "data.image_size": SIDE, "model.name": "mlp",
                "workers.count": 1, "workers.batch": BATCH, "partition.warmup": 0,
                "partition.interval": 0, "epochs": epochs, "threads": READERS, "eval.every": epochs,
                "checkpoint.every": 0, "store.files": "true", "store.cache": 0,
                "importance.images": 0, "optimizer.lr": 0.001, "output": self.out / "run",
                **{k.replace("__", "."): v for k, v in changes.items()}}
        start = time.perf_counter()
        subprocess.run([self.arguments.impart, "train", *(f"{k}={v}" for k, v in keys.items())],
                       env=self.environment(), check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        summary = json.loads((self.out / "run" / "summary.json").read_text())
        if summary["examples"] != sum(self.counts) or summary["visits"] != epochs * sum(self.counts):
            raise SystemExit(f"impart visited {summary['visits']} of {summary['examples']} photographs")
        return summary, seconds

    def from_server(self, policy):
        return self.impart(f"{self.server.url}/shards", store__cache_policy=policy,
                           store__cache_path=self.out / "cache", store__cache_disk=self.mebibytes)[1]

    def check(self):
        found = subprocess.run([self.arguments.impart, "data", "info", f"{self.server.url}/shards",
                                "--name", "mds", "--json"], env=self.environment(), check=True,
                               capture_output=True, text=True)
        train = json.loads(found.stdout)["sets"][0]
        print(f"{sum(self.counts)} photographs in shards of {self.bytes / 2**20:.1f} MiB; caches of "
              f"{self.mebibytes} MiB", flush=True)
        if train["examples"] != sum(self.counts):
            raise SystemExit(f"impart finds {train['examples']} photographs")
        local = self.impart(self.shards, epochs=1)[0]["weights_sha256"]
        remote = self.impart(f"{self.server.url}/shards", epochs=1)[0]["weights_sha256"]
        if local != remote:
            raise SystemExit("impart's weights from the server are not those from the folder")

    def measure(self):
        half, quarter = (str(round(SHARE / part * sum(self.counts))) for part in (2, 4))
        ways = {"impart, pin": lambda: self.from_server("pin"),
                "impart, clock": lambda: self.from_server("clock"),
                "streaming": lambda: self.loop("streaming"),
                "streaming, smaller blocks": lambda: self.loop("streaming", "--block", half),
                "streaming, small blocks": lambda: self.loop("streaming", "--block", quarter,
                                                             "--predownload", quarter),
                "torchvision, local files": lambda: self.loop("torchvision")}
        for _ in range(self.arguments.rounds):
            for name, way in ways.items():
                self.server.clear_log()
                seconds = way()
                if seconds is None:
                    continue
                requests, sent = self.server.sent("/shards/train/")
                self.add_row([name, round(seconds, 2), sent, requests])
                print(f"{name}: {seconds:.1f} s, {sent / 2**20:.1f} MiB, {requests} requests", flush=True)


def show(bench):
    found = {}
    with open(bench.rounds, newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["way"], []).append([float(row[column]) for column in COLUMNS[1:]])
    middle = {name: [statistics.median(column) for column in zip(*rounds)] for name, rounds in found.items()}
    visits = EPOCHS * sum(bench.counts)
    base = middle["impart, pin"]
    print("| | rounds | MiB from the server | of the data, per epoch | requests | seconds | images/s | "
          "bytes ÷ impart, pin | seconds ÷ impart, pin |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (seconds, sent, requests) in middle.items():
        print(f"| {name} | {len(found[name])} | {sent / 2**20:.1f} | {sent / bench.bytes / EPOCHS:.2f} | {requests:.0f} | "
              f"{seconds:.1f} | {visits / seconds:.0f} | {sent / base[1]:.2f} | {seconds / base[0]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impart", default="build/release/bin/impart")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=950)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loop", choices=LOOPS, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--block", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--predownload", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.out, arguments.impart = arguments.out.resolve(), os.path.abspath(arguments.impart)
    if arguments.loop:
        print(json.dumps(LOOPS[arguments.loop](arguments)))
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(arguments)
    try:
        bench.check()
        bench.measure()
        show(bench)
    finally:
        bench.server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
