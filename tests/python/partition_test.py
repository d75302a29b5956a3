#!/usr/bin/env python3
"""Partitions and exchanges against those of the command, functions as heuristics, and what is refused.

    PYTHONPATH=build/dev/python python3 partition_test.py path/to/impart
"""

import json
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest

import numpy as np
from support import IMPART

import impart

HEURISTICS = [row.name for row in impart.heuristics()]
EXCHANGES = [row.name for row in impart.exchanges()]


@unittest.skipIf(IMPART is None, "needs the command impart")
class CommandTest(unittest.TestCase):
    """The same owners and measures as `impart partition` for random inputs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ask(self, *args, **arrays):
        """The command's owners and what it says of them."""
        files = []
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
            files += [f"--{name}", f"{name}.npy"]
        done = subprocess.run([IMPART, "partition", *map(str, args), *files, "--json", "-o",
                               "owners.npy"], cwd=self.folder, check=True, capture_output=True)
        return np.load(self.folder / "owners.npy"), json.loads(done.stdout)

    def inputs(self, random, kind):
        n = int(random.integers(0, 200))
        importance = random.normal(size=n).astype(kind)
        if random.random() < 0.5:
            importance = np.round(importance)  # ties
        if n and random.random() < 0.3:
            importance[random.integers(n, size=3)] = [np.nan, np.inf, -np.inf]
        return importance, random.integers(7, size=n, dtype=np.uint32)

    def test_heuristics(self):
        random = np.random.default_rng(1)
        for heuristic in HEURISTICS:
            for sticky in [False, True]:
                kind = np.float32 if random.random() < 0.5 else np.float64
                importance, labels = self.inputs(random, kind)
                workers, seed, epoch = (int(x) for x in random.integers(1, 9, size=3))
                previous = random.integers(workers, size=importance.size, dtype=np.uint32)
                args = ["--heuristic", heuristic, "--workers", workers, "--seed", seed, "--epoch",
                        epoch, *(["--sticky"] if sticky else [])]
                with self.subTest(heuristic=heuristic, sticky=sticky):
                    owners, said = self.ask(*args, importance=importance, labels=labels,
                                            previous=previous)
                    found = impart.partition(importance, heuristic, workers, previous, sticky,
                                             seed, epoch, labels)
                    np.testing.assert_array_equal(found.owners, owners)
                    self.check_measures(found, said, labels, previous)

    def check_measures(self, found, said, labels, previous):
        self.assertEqual(found.sizes.tolist(), said["sizes"])
        self.assertEqual([part.size for part in found.parts], said["sizes"])
        self.assertEqual(found.imbalance.sizes.tolist(), said["sizes"])
        np.testing.assert_allclose(found.imbalance.sums, said["sums"])
        nan = float("nan")
        for name in ["cv", "ks"]:
            expected = said[f"imbalance_{name}"]
            np.testing.assert_allclose(getattr(found.imbalance, name),
                                       nan if expected is None else expected)
        self.assertAlmostEqual(found.class_skew(labels), said["class_skew"])
        plan = impart.move_plan(previous, found)
        self.assertEqual((plan.examples.size, plan.messages), (said["moved"], said["messages"]))
        moved = np.array(previous, np.uint32)
        np.testing.assert_array_equal(moved[plan.examples], plan.from_worker)
        moved[plan.examples] = plan.to_worker
        np.testing.assert_array_equal(moved, found.owners)

    def test_exchanges(self):
        random = np.random.default_rng(2)
        for strategy in EXCHANGES:
            for _ in range(2):
                importance, _ = self.inputs(random, np.float32)
                workers, seed, epoch = (int(x) for x in random.integers(1, 9, size=3))
                fraction = float(random.random())
                current = impart.partition(importance, "random", workers, seed=seed)
                with self.subTest(strategy=strategy):
                    owners, _ = self.ask(
                        "--workers", workers, "--seed", seed, "--epoch", epoch, "--exchange",
                        strategy, "--fraction", fraction, importance=importance,
                        previous=current.owners)
                    found = impart.exchange(current, strategy, fraction, importance, seed, epoch)
                    np.testing.assert_array_equal(found.owners, owners)
                    np.testing.assert_array_equal(found.sizes, current.sizes)


class CallableTest(unittest.TestCase):
    def test_a_function_deals(self):
        def by_id(importance, workers):
            return np.arange(importance.size) % workers

        dealt = impart.partition(np.zeros(7), by_id, 3)
        self.assertEqual(dealt.owners.tolist(), [0, 1, 2, 0, 1, 2, 0])
        self.assertEqual(np.asarray(dealt).dtype, np.uint32)
        self.assertEqual([part.tolist() for part in dealt.parts], [[0, 3, 6], [1, 4], [2, 5]])

    def test_it_gets_what_it_has_parameters_for(self):
        given = {}

        def all_of_it(importance, workers, **options):
            given.update(options)
            return np.zeros(importance.size, int)

        def some(importance, workers, seed):
            given["seed alone"] = seed
            return impart.Partition(np.zeros(importance.size, int), workers)

        impart.partition(np.zeros(3), all_of_it, 2, previous=[1, 1, 0], seed=4, epoch=5,
                         labels=[7, 8, 9])
        impart.partition(np.zeros(3), some, 2, seed=6)
        self.assertEqual(sorted(given), ["epoch", "labels", "previous", "seed", "seed alone"])
        self.assertEqual((given["seed"], given["epoch"], given["seed alone"]), (4, 5, 6))

    def test_wrong_functions(self):
        for owners, message in [([0, 1], "there are 2 owners for 3 examples"),
                                ([0, 1, 2], "example 2 belongs to worker 2"),
                                ([0, -1, 0], "between 0 and"), ([0.0, 1.0, 0.0], "integers"),
                                ([[0, 1, 0]], "dimension"), (None, "integers")]:
            with self.subTest(owners), self.assertRaisesRegex(
                    impart.DataError, f"the heuristic <lambda>: .*{message}"):
                impart.partition(np.zeros(3), lambda importance, workers: owners, 2)


class WrongInputTest(unittest.TestCase):
    def test_partition(self):
        scores = np.zeros(4)
        for error, message, args, options in [
                (impart.ConfigError, "did you mean 'stripes'", (scores, "strips", 2), {}),
                (impart.ConfigError, "workers is 0", (scores, "stripes", 0), {}),
                (impart.ConfigError, "workers is -1", (scores, "stripes", -1), {}),
                (impart.ConfigError, "workers is 4294967295", (scores, "stripes", 2**32 - 1), {}),
                (impart.ConfigError, "whole number", (scores, "stripes", 2.5), {}),
                (impart.ConfigError, "sticky needs previous", (scores, "stripes", 2),
                 {"sticky": True}),
                (impart.ConfigError, "needs labels", (scores, "class-stripes", 2), {}),
                (impart.ConfigError, "seed is -1", (scores, "random", 2), {"seed": -1}),
                (impart.ConfigError, "epoch is", (scores, "random", 2), {"epoch": 2**40}),
                (impart.DataError, "3 labels for 4", (scores, "class-stripes", 2),
                 {"labels": [1, 2, 3]}),
                (impart.DataError, "labels reach from -1", (scores, "class-stripes", 2),
                 {"labels": [1, 2, 3, -1]}),
                (impart.DataError, "of 3 examples, the importance of 4", (scores, "stripes", 2),
                 {"previous": [0, 0, 1], "sticky": True}),
                (impart.DataError, "one number for each example", (np.zeros((2, 2)),), {}),
                (impart.DataError, "must be numbers", (["a", "b"],), {}),
                (impart.DataError, "must be numbers", (np.zeros(2, complex),), {}),
                (impart.DataError, "one number for each example", (np.float32(3),), {})]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                impart.partition(*args, **options)

    def test_exchange_and_plans(self):
        current = impart.partition(np.arange(8.0), "stripes", 2)
        for error, message, args in [
                (impart.ConfigError, "did you mean 'partial'", (current, "partal")),
                (impart.ConfigError, "fraction 1.5", (current, "partial", 1.5)),
                (impart.ConfigError, "is needs importance", (current, "is", 0.5)),
                (impart.ConfigError, "7 scores for 8", (current, "is", 0.5, np.zeros(7)))]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                impart.exchange(*args)
        with self.assertRaisesRegex(impart.ConfigError, "2 examples with one of 3"):
            impart.move_plan([0, 1], [0, 1, 1])
        with self.assertRaisesRegex(impart.DataError, "example 1 belongs to worker 3"):
            impart.Partition([0, 3], 2)
        with self.assertRaisesRegex(impart.ConfigError, "knows no importance"):
            impart.Partition([0, 1]).imbalance

    def test_not_a_number_ranks_as_the_largest(self):
        found = impart.partition(np.array([1.0, np.nan, 3.0, 2.0]), "blocks", 2)
        self.assertEqual(found.owners.tolist(), [1, 0, 0, 1])

    def test_no_examples_at_all(self):
        for heuristic in HEURISTICS:
            found = impart.partition(np.zeros(0), heuristic, 3, labels=np.zeros(0, int))
            self.assertEqual(found.sizes.tolist(), [0, 0, 0])


class LockTest(unittest.TestCase):
    """Other threads run while the core works."""

    def longest_pause(self, work):
        """The longest time that a ticking thread stood still, and how long the work took."""
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        time.sleep(0.02)
        started = time.perf_counter()
        work()
        ended = time.perf_counter()
        done.set()
        thread.join()
        inside = [started, *(t for t in ticks if started < t < ended), ended]
        return max(b - a for a, b in zip(inside, inside[1:])), ended - started

    def test_partitioning_five_million(self):
        importance = np.random.default_rng(3).random(5_000_000)
        owners = impart.partition(importance, "balanced", 64).owners
        spec = impart._core.PlacementSpec()
        spec.workers = 64
        ownership = impart._core.Ownership(spec, owners.size, None)
        none = np.zeros(0, np.uint64)
        ownership.restore(owners, np.zeros(0, np.float32), arrivals=none, gone=none)
        work = {
            "partition": lambda: impart._core.partition(importance, "balanced", 64, 0, 0, None,
                                                        owners, 64),
            "exchange": lambda: impart._core.exchange(owners, 64, "is", importance, 0.5, 0, 0, 0),
            "visits": lambda: ownership.visits(0, "pad", 32, 0, 1),
        }
        for name, run in work.items():
            with self.subTest(name):
                pause, seconds = self.longest_pause(run)
                self.assertGreater(seconds, 0.1)
                self.assertLess(pause, 0.5 * seconds)


if __name__ == "__main__":
    unittest.main()
