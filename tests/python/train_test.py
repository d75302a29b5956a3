#!/usr/bin/env python3
"""A sampler and a tracker decide as `impart train` does: the same partitions, orders, importance.

    PYTHONPATH=build/dev/python python3 train_test.py path/to/impart

Runs of the command record their losses; these are replayed through the package. Orders are compared
with the visits in the checkpoint of a run that was stopped in mid-epoch.
"""

import json
import pathlib
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import numpy as np
from support import IMPART

import impart

EXAMPLES, BATCH, EPOCHS, SEED = 402, 4, 7, 11
BASE = {
    "seed": SEED, "threads": 1, "epochs": EPOCHS, "data.train_examples": EXAMPLES,
    "data.test_examples": 20, "model.name": "mlp", "workers.count": 4, "workers.batch": BATCH,
    "optimizer.lr": 0.02, "importance.ignore": 1, "importance.history": "true",
    "partition.warmup": 2, "partition.interval": 2, "partition.save": "true", "eval.every": 100,
    "checkpoint.every": 0,
}
CASES = {
    "stripes": {},
    "blocks, sticky, shared order": {"partition.heuristic": "blocks", "partition.sticky": "true",
                                     "workers.shuffle": "shared"},
    "class-stripes, padded": {"partition.heuristic": "class-stripes", "workers.uneven": "pad",
                              "importance.notion": "loss-average"},
    "exchange with the last losses": {"partition.heuristic": "random", "partition.warmup": 0,
                                      "partition.interval": 0, "exchange.strategy": "ilag-pair",
                                      "exchange.fraction": 0.13},
    "exchange inside intervals": {"exchange.strategy": "balance-pair", "partition.heuristic":
                                  "snake", "importance.window": "run", "workers.uneven": "drop"},
    "arrivals last": {"exchange.strategy": "partial", "exchange.fraction": 0.2,
                      "exchange.arrivals_last": "true", "partition.interval": 4},
}


def start(folder, name, case):
    settings = [f"{key}={value}" for key, value in {**BASE, **case, "output": name}.items()]
    return subprocess.Popen([IMPART, "train", *settings], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def owners_at(run, epoch):
    """Of the partition that is in force in an epoch."""
    files = sorted((run / "partitions").glob("epoch-*.csv"))
    file = [f for f in files if int(f.stem.split("-")[1]) <= epoch][-1]
    table = np.loadtxt(file, np.int64, delimiter=",", skiprows=1)
    return table[np.argsort(table[:, 0]), 1]


def read_tensor(path, name):
    """One tensor of a safetensors file, as int64."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + length])[name]
    first, last = entry["data_offsets"]
    assert entry["dtype"] == "I64", entry
    return np.frombuffer(data[8 + length + first:8 + length + last], np.int64)


@unittest.skipIf(IMPART is None, "needs the command impart")
class TrainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def labels(self):
        """Of the built-in images, as `impart data pack` writes them."""
        subprocess.run([IMPART, "data", "pack", "shapes", "packed"], cwd=self.folder, check=True,
                       capture_output=True)
        return np.load(self.folder / "packed" / "train" / "labels.npy")[:EXAMPLES]

    def make(self, case):
        config = {**BASE, **case}
        heuristic = config.get("partition.heuristic", "stripes")
        notion = config.get("importance.notion", "loss-variance")
        exchange = config.get("exchange.strategy")
        tracker = impart.Tracker(EXAMPLES, [notion, "loss-last"], ignore=1, seed=SEED,
                                 window=config.get("importance.window", "interval"))
        sampler = impart.ImportanceSampler(
            EXAMPLES, tracker, heuristic, warmup=config["partition.warmup"],
            interval=config["partition.interval"], epochs=EPOCHS, workers=4, seed=SEED,
            uneven=config.get("workers.uneven", "weight"), notion=notion,
            sticky=config.get("partition.sticky") == "true", exchange=exchange,
            fraction=config.get("exchange.fraction", 0.1),
            labels=self.labels() if heuristic == "class-stripes" else None,
            shuffle=config.get("workers.shuffle", "per-worker"),
            arrivals_last=config.get("exchange.arrivals_last") == "true")
        return impart.ImportanceBatchSampler(sampler, BATCH), tracker

    def check(self, case):
        whole, stopped = self.folder / "whole", self.folder / "stopped"
        process = start(self.folder, "whole", case)
        self.assertEqual(process.wait(60), 0, process.stderr.read())
        process.stderr.close()
        state, visited = self.stop_in_mid_epoch(stopped, case)
        losses = np.load(whole / "history.npy")
        batches, tracker = self.make(case)
        for epoch in range(EPOCHS):
            batches.set_epoch(epoch)
            np.testing.assert_array_equal(batches.sampler.partition.owners,
                                          owners_at(whole, epoch), f"epoch {epoch}")
            steps = list(batches)
            if epoch == state["epoch"]:
                self.check_order(steps, visited, state, stopped)
            for ids in steps:
                tracker.observe(ids, loss=losses[ids, epoch])
        np.testing.assert_array_equal(tracker.importance(), np.load(whole / "importance.npy"))

    def check_order(self, steps, visited, state, stopped):
        """Padded visits are not in the record: an example's first visit counts."""
        np.testing.assert_array_equal(self.owners_of(steps, stopped, state), True)
        flat = np.concatenate(steps[:state["step"]])
        first = np.sort(np.unique(flat, return_index=True)[1])
        np.testing.assert_array_equal(flat[first], visited)

    @staticmethod
    def owners_of(steps, stopped, state):
        """Whether the visits of each step go from worker to worker, as a process runs them."""
        owners = owners_at(stopped, state["epoch"])
        return [np.all(np.diff(owners[np.array(ids)]) >= 0) for ids in steps]

    def stop_in_mid_epoch(self, run, case):
        """The state and the visits of a run that is stopped after the second repartitioning."""
        for _ in range(5):
            process = start(self.folder, run.name, case)
            metrics = run / "metrics.jsonl"
            limit = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < limit:
                if metrics.exists() and metrics.read_bytes().count(b"\n") >= 4:
                    process.send_signal(signal.SIGTERM)
                    break
                time.sleep(0.001)
            code = process.wait(60)
            process.stderr.close()
            newest = sorted((run / "checkpoints").glob("step-*"))[-1]
            state = json.loads((newest / "state.json").read_text())
            if code == 85 and state["step"] > 0:  # and not between two epochs
                self.assertGreaterEqual(state["epoch"], 4)
                return state, read_tensor(newest / "training.safetensors", "visits.ids")
            for path in sorted(run.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            run.rmdir()
        self.fail("no run could be stopped inside an epoch")


def add_case(name, case):
    def test(self):
        self.check(case)
    setattr(TrainTest, "test_" + "".join(c if c.isalnum() else "_" for c in name), test)


for case_name, settings in CASES.items():
    add_case(case_name, settings)

if __name__ == "__main__":
    unittest.main()
