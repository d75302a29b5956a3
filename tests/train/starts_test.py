#!/usr/bin/env python3
"""Runs whose data lies on the workers as it was written: starts, and parts of different sizes.

    python3 starts_test.py path/to/impart
"""

import signal
import subprocess
import unittest

import training
from training import RunFolder, on_small_images, settings, wait_until

EXAMPLES, EPOCHS, WORKERS = 320, 4, 4
BASE = on_small_images({
    "threads": 1,
    "epochs": EPOCHS,
    "data.train_examples": EXAMPLES,
    "model.name": "mlp",
    "workers.count": WORKERS,
    "workers.batch": 8,
    "workers.reduce": "exact",
    "optimizer.lr": 0.01,
    "importance.images": 0,
    "importance.notion": "loss-average",
    "importance.ignore": 0,
    "partition.heuristic": "random",
    "partition.warmup": 0,
    "partition.interval": 0,
    "partition.save": "true",
    "checkpoint.every": 1,
})


def owners(text):
    pairs = [tuple(map(int, line.split(","))) for line in text.splitlines()[1:]]
    return [worker for _, worker in sorted(pairs)]


def exchanges():
    listed = subprocess.run([training.IMPART, "list", "exchanges"], check=True,
                            capture_output=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines()[1:]]


class StartsTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def run_with(self, name, processes=None, **changes):
        self.succeed(*settings(BASE, **changes), f"output={name}", processes=processes)
        return self.run_folder(name)

    def placements(self, run):
        return [record.get("placement") for record in run.metrics()]


class ScheduleTest(StartsTest):
    def test_by_class_is_that_of_the_command_and_never_changes(self):
        run = self.run_with("sorted", partition__start="by-class")
        self.assertEqual(list(run.partitions()), ["epoch-0000.csv"])
        done = subprocess.run(
            [training.IMPART, "partition", "--start", "by-class", "--labels", "sorted/labels.npy",
             "--workers", str(WORKERS), "-o", "owners.csv"], cwd=self.folder, capture_output=True,
            check=True)
        self.assertIn(b"skew", done.stdout)
        self.assertEqual(run.partitions()["epoch-0000.csv"],
                         (self.folder / "owners.csv").read_text())
        first, *later = self.placements(run)
        self.assertEqual(first["event"], "start")
        self.assertGreater(first["mean_class_skew"], 0.5)
        self.assertEqual((first["mixed"], first["seen"], first["size_spread"]), (0, 0.25, 1))
        self.assertEqual(later, [None] * (EPOCHS - 1))

    def test_a_start_stays_through_the_warm_up_unless_it_is_shuffled(self):
        warm = {"partition__warmup": 2, "partition__start": "by-class"}
        kept = self.run_with("kept", **warm)
        self.assertEqual(sorted(kept.partitions()), ["epoch-0000.csv", "epoch-0002.csv"])
        shuffled = self.run_with("shuffled", partition__warmup_shuffle="true", **warm)
        self.assertEqual([p["event"] for p in self.placements(shuffled)[:3]],
                         ["start", "random", "heuristic"])

    def test_random_is_as_before(self):
        self.assertEqual(self.run_with("plain").sha(),
                         self.run_with("named", partition__start="random").sha())

    def test_exchanges_mix_what_was_sorted(self):
        run = self.run_with("mixing", partition__start="by-class", exchange__strategy="partial",
                            exchange__fraction=0.5)
        placed = self.placements(run)
        for name, grows in [("mixed", True), ("seen", True), ("mean_class_skew", False)]:
            values = [p[name] for p in placed]
            self.assertEqual(values, sorted(values, reverse=not grows), name)
        last, start = run.partitions()["epoch-0003.csv"], run.partitions()["epoch-0000.csv"]
        moved = sum(a != b for a, b in zip(owners(last), owners(start)))
        self.assertAlmostEqual(placed[-1]["mixed"], moved / EXAMPLES)


class FileTest(StartsTest):
    def setUp(self):
        super().setUp()
        self.owners = [0 if i < 200 else 3 if i < 300 else 1 for i in range(EXAMPLES)]

    def write_owners(self, rows):
        text = "id,worker\n" + "".join(f"{example},{worker}\n" for example, worker in rows)
        (self.folder / "owners.csv").write_text(text)

    def test_a_file_says_who_owns_what(self):
        self.write_owners(reversed(list(enumerate(self.owners))))
        run = self.run_with("given", partition__start="file", partition__start_file="owners.csv")
        self.assertEqual(owners(run.partitions()["epoch-0000.csv"]), self.owners)
        self.assertEqual(self.placements(run)[0]["size_spread"], 2.5)
        self.assertEqual(run.metrics()[0]["step"], 25)  # 200 examples in steps of 8

    def test_what_is_wrong_with_it_is_named_with_its_line(self):
        rows = list(enumerate(self.owners))
        for name, wrong, message in [
                ("doubled", rows[:-1] + [(7, 0)], "owners.csv:321: id 7 is a duplicate"),
                ("missing", rows[:-1], "owners.csv:320: ids end here, but 320 examples are trained "
                                       "on: id 319 is missing"),
                ("unknown", rows + [(320, 0)], "owners.csv:322: id 320, but only 320 examples"),
                ("worker", [(0, 4)] + rows[1:], "owners.csv:2: example 0 belongs to worker 4")]:
            with self.subTest(name):
                self.write_owners(wrong)
                self.fail_with(65, message, *settings(BASE, partition__start="file",
                                                      partition__start_file="owners.csv"),
                               f"output={name}")
                self.assertFalse((self.folder / name).exists(), "no run has begun")

    def test_what_cannot_go_together_is_said_before_anything_is_loaded(self):
        for changes, message in [
                ({"partition__start": "file"}, "partition.start: file needs partition.start_file"),
                ({"partition__start_file": "x.csv"}, "partition.start_file needs partition.start"),
                ({"partition__start": "by-class", "data__name": "generated",
                  "model__name": "gpt-tiny"}, "by-class needs the label of every example"),
                ({"partition__start": "sorted"}, "unknown start 'sorted'")]:
            with self.subTest(message):
                self.fail_with(2, message, *settings(BASE, **changes), "output=bad")


class UnevenParts(StartsTest):
    """Parts of 200, 20, 100 and 0 examples."""

    def setUp(self):
        super().setUp()
        sizes = [200, 20, 100, 0]
        lines = [worker for worker, size in enumerate(sizes) for _ in range(size)]
        (self.folder / "owners.txt").write_text("".join(f"{worker}\n" for worker in lines))
        self.uneven = {"partition__start": "file", "partition__start_file": "owners.txt"}


class UnevenExchangeTest(UnevenParts):
    def test_every_exchange_moves_examples_and_keeps_the_sizes(self):
        for strategy in exchanges():
            with self.subTest(strategy):
                run = self.run_with(strategy, exchange__strategy=strategy, exchange__fraction=0.5,
                                    **self.uneven)
                parts = [owners(text) for text in run.partitions().values()]
                self.assertGreater(run.summary()["examples_moved"], 0)
                for part in parts:
                    self.assertEqual([part.count(w) for w in range(WORKERS)], [200, 20, 100, 0])


class UnevenTest(UnevenParts):
    def test_who_has_nothing_changes_nothing(self):
        norms = {"model__name": "small-cnn", "workers__batch": 20, "epochs": 2, **self.uneven}
        four = self.run_with("four", **norms)
        for name, changes in [("three", {"workers__count": 3}), ("processes", {"processes": 2})]:
            other = self.run_with(name, **changes, **norms)
            self.assertEqual(four.sha(), other.sha(), name)
            self.assertEqual(four.column("test_loss"), other.column("test_loss"), name)

    def test_a_partitioned_store_follows(self):
        exchange = {"exchange__strategy": "is-pair", "exchange__fraction": 0.5}
        kept = self.run_with("replicated", **exchange, **self.uneven)
        stored = self.run_with("partitioned", processes=2, store__kind="partitioned", **exchange,
                               **self.uneven)
        self.assertEqual(kept.sha(), stored.sha())
        self.assertGreaterEqual(stored.summary()["peak_stored_examples"], 200)

    def test_padding_repeats_and_dropping_says_that_nothing_is_left(self):
        padded = self.run_with("padded", workers__uneven="pad", **self.uneven)
        self.assertEqual(padded.metrics()[0]["step"], 25)
        self.fail_with(2, "workers.uneven: drop cuts all parts to the shortest",
                       *settings(BASE, workers__uneven="drop", **self.uneven), "output=dropped")

    def test_a_heuristic_deals_evenly_afterwards(self):
        run = self.run_with("stripes", partition__heuristic="stripes", partition__warmup=2,
                            partition__interval=1, **self.uneven)
        self.assertEqual([p and p["size_spread"] for p in self.placements(run)], [2.5, None, 1, 1])


class InterruptedTest(StartsTest):
    def test_a_run_goes_on_without_the_file_of_its_start(self):
        changes = {"partition__start": "file", "partition__start_file": "owners.txt",
                   "exchange__strategy": "ilag-pair", "exchange__fraction": 0.3, "epochs": 6}
        lines = "".join(f"{i * i % 3}\n" for i in range(EXAMPLES))
        (self.folder / "owners.txt").write_text(lines)
        expected = self.run_with("whole", **changes)
        run = RunFolder(self.folder / "stopped")
        started = self.start(*settings(BASE, **changes), "output=stopped")
        self.assertTrue(wait_until(lambda: run.lines() >= 2 or started.is_over(), 60))
        started.signal(signal.SIGTERM)
        self.assertIn(started.wait(), [0, 85], started.texts()[1])
        (self.folder / "owners.txt").unlink()
        if not (run.path / "DONE").exists():
            self.succeed("--resume", "stopped")
        self.assertEqual(run.sha(), expected.sha())
        self.assertEqual(run.metrics(), expected.metrics())


if __name__ == "__main__":
    unittest.main()
