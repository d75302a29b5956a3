#!/usr/bin/env python3
"""Trains from shards that are four times larger than the memory the command may use.

    IMPART_LARGE=1 python3 memory_test.py path/to/impart

Writes 1.8 GB into the folder for temporary files and takes a minute or two, hence only on request. The limit is
a memory cgroup (which also counts the page cache) where one can be made, else RLIMIT_DATA.
"""

import os
import pathlib
import random
import resource
import subprocess
import unittest

import training

MEBIBYTE = 1 << 20
LIMIT = 440 * MEBIBYTE  # LibTorch alone takes about 250
TIMES = 4
DISTINCT = 48
SIDE = (960, 720)


class Limit:
    """Processes started through `enter` may use so many bytes."""

    def __init__(self, limit):
        self.limit = limit
        self.group = None
        for root in map(pathlib.Path, ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"]):
            group = root / f"impart-test-{os.getpid()}"
            try:
                group.mkdir()
                name = "memory.limit_in_bytes" if root.name == "memory" else "memory.max"
                (group / name).write_text(str(limit))
                self.group = group
                return
            except OSError:
                if group.exists():
                    group.rmdir()

    def __str__(self):
        kind = "cgroup" if self.group else "RLIMIT_DATA"
        return f"{self.limit // MEBIBYTE} MiB by {kind}"

    def enter(self):
        if self.group:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))
        else:
            resource.setrlimit(resource.RLIMIT_DATA, (self.limit, self.limit))

    def peak(self):
        """Highest use so far, where the kernel tells."""
        for name in ["memory.max_usage_in_bytes", "memory.peak"]:
            if self.group and (self.group / name).exists():
                return int((self.group / name).read_text())
        return None

    def remove(self):
        if self.group:
            self.group.rmdir()


@unittest.skipUnless(os.environ.get("IMPART_LARGE"), "IMPART_LARGE is not set: 1.8 GB of data")
class MemoryTest(training.TrainingTest):
    def make_images(self, root, total):
        """Class folders of large JPEGs, most of them links to a few."""
        from PIL import Image
        random.seed(1)
        originals = []
        for number in range(DISTINCT):
            path = self.folder / f"image-{number}.jpg"
            noise = Image.frombytes("RGB", SIDE, random.randbytes(SIDE[0] * SIDE[1] * 3))
            noise.save(path, quality=60)
            originals.append(path)
        size = sum(path.stat().st_size for path in originals) // DISTINCT
        for part, count in [("train", -(-total // size)), ("val", DISTINCT)]:
            for number in range(count):
                folder = root / part / f"class-{number % DISTINCT % 4}"
                folder.mkdir(parents=True, exist_ok=True)
                os.link(originals[number % DISTINCT], folder / f"{number:06}.jpg")

    def run_limited(self, limit, *arguments):
        done = subprocess.run([training.IMPART, *arguments], cwd=self.folder, capture_output=True,
                              text=True, env=training.ENVIRONMENT, preexec_fn=limit.enter)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_shards_larger_than_memory(self):
        limit = Limit(LIMIT)
        self.addCleanup(limit.remove)
        self.make_images(self.folder / "images", TIMES * LIMIT)
        self.run_limited(limit, "data", "pack", "images", "shards")
        shards = sum(f.stat().st_size for f in (self.folder / "shards" / "train").glob("*.mds"))
        self.assertGreaterEqual(shards, TIMES * LIMIT)
        for store in ["store.kind=replicated", "store.kind=partitioned store.path=parts"]:
            with self.subTest(store=store):
                self.run_limited(
                    limit, "train", "data.name=mds", "data.root=shards", "data.image_size=32",
                    "data.augment=resized-crop-flip", "model.name=small-cnn", "epochs=1", "threads=1",
                    "workers.count=4", "workers.batch=16", "partition.heuristic=random",
                    "partition.warmup=0", "partition.interval=1", "importance.ignore=0",
                    "store.cache=32", "output=run", "--overwrite", *store.split())
                summary = self.run_folder("run").summary()
                self.assertGreaterEqual(summary["bytes_disk"], shards * 0.99)
        print(f"{shards / MEBIBYTE:.0f} MiB of shards within {limit}, peak {limit.peak()} bytes")


if __name__ == "__main__":
    unittest.main()
