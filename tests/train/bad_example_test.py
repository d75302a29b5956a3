#!/usr/bin/env python3
"""Runs whose examples cannot be read when their turn comes.

    python3 bad_example_test.py path/to/impart
"""

import json
import random
import shutil
import subprocess
import unittest

from PIL import Image

import training
from training import SHORT, settings

PHOTOS = {
    **{key: value for key, value in SHORT.items() if not key.startswith("data.")},
    "epochs": 3, "importance.ignore": 0, "partition.warmup": 1, "partition.interval": 1,
    "data.name": "imagefolder", "data.root": "photos", "data.image_size": 16,
    "data.augment": "resized-crop-flip",
}
EXAMPLES = 46


class BadExampleTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        random.seed(3)
        for part, count in [("train", EXAMPLES), ("val", 10)]:
            for number in range(count):
                folder = self.folder / "photos" / part / f"class-{number % 2}"
                folder.mkdir(parents=True, exist_ok=True)
                image = Image.frombytes("RGB", (24, 20), random.randbytes(24 * 20 * 3))
                image.save(folder / f"{number:03}.{'jpg' if number % 3 else 'png'}")

    def run_once(self, name, processes=None, **changes):
        _, err = self.succeed(*settings(PHOTOS, **changes), f"output={name}", processes=processes)
        return self.run_folder(name), err

    def damage(self, path):
        data = path.read_bytes()
        path.write_bytes(data[:len(data) // 2])

    def pack(self, *options):
        subprocess.run([training.IMPART, "data", "pack", "photos", "shards", *options],
                       cwd=self.folder, check=True, capture_output=True)

    def ledger(self, run):
        return [json.loads(line) for line in (run.path / "ledger.jsonl").read_text().splitlines()]

    def test_photos_train_from_files_parts_and_shards_alike(self):
        files, _ = self.run_once("files")
        parts, _ = self.run_once("parts", store__kind="partitioned", store__path="parts")
        self.pack()
        shards, _ = self.run_once("shards", data__name="mds", data__root="shards")
        self.assertEqual(parts.sha(), files.sha())
        self.assertEqual(shards.sha(), files.sha())
        size = sum(f.stat().st_size for f in (self.folder / "photos/train").rglob("*.*"))
        lines = self.ledger(files)
        self.assertEqual(files.summary()["payload_bytes_total"], size)
        self.assertEqual([sum(w["bytes_source"] for w in line["workers"]) for line in lines],
                         [size, 0, 0])  # then they are in the cache
        self.assertEqual(sum(w["cache_hits"] for w in lines[1]["workers"]), EXAMPLES)

    def test_an_unreadable_photo_ends_the_run_with_its_name(self):
        self.damage(self.folder / "photos/train/class-1/007.jpg")
        self.fail_with(65, "photos/train/class-1/007.jpg", *settings(PHOTOS), "output=run")
        self.assertEqual(self.run_folder("run").markers(), ["FAILED"])

    def test_an_unreadable_photo_can_be_left_out(self):
        self.damage(self.folder / "photos/train/class-1/007.jpg")
        self.damage(self.folder / "photos/train/class-0/012.png")
        counts = [1, 2] if shutil.which("mpirun") else [None]
        for processes in counts:
            with self.subTest(processes=processes):
                run, err = self.run_once(f"run-{processes}", processes, data__on_error="skip")
                self.assertEqual(run.column("skipped"), [2, 2, 2])
                self.assertEqual([line["skipped"] for line in self.ledger(run)], [2, 2, 2])
                self.assertEqual(err.count("photos/train/class-1/007.jpg"), 1, err)
                visits = (run.path / "importance.csv").read_text().splitlines()
                unseen = [line for line in visits[1:] if line.split(",")[1] == "0"]
                self.assertEqual(len(unseen), 2)
        steps = {tuple(self.run_folder(f"run-{processes}").column("step")) for processes in counts}
        self.assertEqual(len(steps), 1)

    def test_an_unreadable_photo_can_be_left_out_of_parts(self):
        self.damage(self.folder / "photos/train/class-1/007.jpg")
        run, _ = self.run_once("run", data__on_error="skip", store__kind="partitioned")
        self.assertEqual(run.column("skipped"), [1, 1, 1])

    def test_a_photo_that_vanished(self):
        self.pack()
        shard = next((self.folder / "shards/train").glob("*.mds"))
        shard.unlink()
        self.fail_with(65, shard.name, *settings(PHOTOS, data__name="mds", data__root="shards"),
                       "output=run")
        self.assertFalse((self.folder / "run").exists())

    def test_a_damaged_compressed_shard(self):
        self.pack("--compression", "zstd", "--hashes", "xxh64")
        shard = next((self.folder / "shards/train").glob("*.zstd"))
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 4
        shard.write_bytes(data)
        self.fail_with(65, shard.stem, *settings(PHOTOS, data__name="mds", data__root="shards"),
                       "output=run")

    def test_a_truncated_shard(self):
        self.pack()
        shard = next((self.folder / "shards/train").glob("*.mds"))
        with open(shard, "r+b") as file:
            file.truncate(shard.stat().st_size - 10)
        self.fail_with(65, shard.name, *settings(PHOTOS, data__name="mds", data__root="shards"),
                       "output=run")


if __name__ == "__main__":
    unittest.main()
