#!/usr/bin/env python3
"""Starts, and what they do to workers.

    PYTHONPATH=build/dev/python python3 start_test.py path/to/source path/to/impart
"""

import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import impart

SOURCE = sys.argv.pop(1)
IMPART = sys.argv.pop(1)
sys.path.insert(0, f"{SOURCE}/tools")
import compare_flwr  # noqa: E402

LABELS = [i * 7 % 10 for i in range(1000)]


class StartTest(unittest.TestCase):
    def test_starts_are_those_of_the_command(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            np.save(folder / "labels.npy", np.array(LABELS))
            for row in impart.starts():
                if row.needs_file:
                    continue
                for sizes in ["free", "even"]:
                    subprocess.run(
                        [IMPART, "partition", "--start", row.name, "--labels", "labels.npy",
                         "--workers", "7", "--seed", "3", "--alpha", "0.2", "--sizes", sizes, "-o",
                         "owners.npy"], cwd=folder, check=True, capture_output=True)
                    found = impart.start(row.name, LABELS, workers=7, seed=3, alpha=0.2,
                                         sizes=sizes)
                    self.assertEqual(found.owners.tolist(),
                                     np.load(folder / "owners.npy").tolist(), row.name)
            again = impart.start("file", file=folder / "owners.npy", examples=1000, workers=7)
            self.assertEqual(again, found)

    def test_wrong_input_says_what_would_be_right(self):
        for arguments, message in [
                (dict(name="by-clas", labels=LABELS), "did you mean 'by-class'"),
                (dict(name="by-class"), "start by-class needs labels"),
                (dict(name="by-class", examples=5), "needs the label of every example"),
                (dict(name="random"), "labels, or the number of examples"),
                (dict(name="dirichlet", labels=LABELS, alpha=0), "alpha 0 is not between"),
                (dict(name="dirichlet", labels=LABELS, sizes="equal"), "unknown sizes 'equal'"),
                (dict(name="file", labels=LABELS), "start file needs a file"),
                (dict(name="random", labels=LABELS, file="x.csv"), "only the start file"),
                (dict(name="random", labels=LABELS, workers=0), "workers")]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                impart.start(**arguments)

    def test_graded_blocks_take_a_strength(self):
        scores = np.random.default_rng(1).random(500)
        blocks = impart.partition(scores, "blocks", workers=5)
        self.assertEqual(impart.partition(scores, "graded-blocks", workers=5, strength=1.0), blocks)
        self.assertNotEqual(impart.partition(scores, "graded-blocks", workers=5), blocks)


class HeterogeneityTest(unittest.TestCase):
    def test_skew_is_the_distance_of_class_shares(self):
        found = impart.heterogeneity([0, 0, 0, 2], [5, 5, 6, 6])  # worker 1 has nothing
        self.assertAlmostEqual(found.class_skew, 0.5)
        self.assertAlmostEqual(found.mean_class_skew, (1 / 6 + 0.5) / 2)
        self.assertEqual(found.size_spread, 9 / 4)

    def test_only_skew_beyond_chance_is_warned_of(self):
        for workers in [2, 10, 100]:
            random = impart.heterogeneity(impart.start("random", LABELS, workers), LABELS)
            self.assertIsNone(random.warning, workers)
            sorted_parts = impart.heterogeneity(impart.start("by-class", LABELS, workers), LABELS)
            self.assertIn("SyncBatchNorm", sorted_parts.warning)

    def test_labels_of_other_examples_are_refused(self):
        with self.assertRaisesRegex(ValueError, "labels"):
            impart.heterogeneity([0, 1], [1, 2, 3])


class SamplerTest(unittest.TestCase):
    def make(self, **options):
        return impart.ImportanceSampler(1000, heuristic="random", warmup=2, interval=0, workers=4,
                                        uneven="weight", seed=5, **options)

    def test_a_start_stays_through_the_warm_up(self):
        sampler = self.make(start="by-class", labels=LABELS)
        start = impart.start("by-class", LABELS, 4)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            self.assertEqual(sampler.partition, start)
            self.assertEqual(sorted(sampler), list(range(1000)))
        sampler.set_epoch(2)
        self.assertNotEqual(sampler.partition, start)
        shuffled = self.make(start="by-class", labels=LABELS, warmup_shuffle=True)
        shuffled.set_epoch(1)
        self.assertNotEqual(shuffled.partition, start)

    def test_owners_may_be_given(self):
        owners = impart.start("dirichlet", LABELS, 4, seed=9, alpha=0.1)
        for given in [owners, owners.owners, owners.owners.tolist()]:
            sampler = self.make(start=given)
            sampler.set_epoch(0)
            self.assertEqual(sampler.partition, owners)
        drawn = self.make(start="dirichlet", labels=LABELS, alpha=0.1)
        drawn.set_epoch(0)
        self.assertEqual(drawn.partition, impart.start("dirichlet", LABELS, 4, seed=5, alpha=0.1))

    def test_states_know_their_start(self):
        owners = impart.start("dirichlet", LABELS, 4, seed=9, alpha=0.1)
        sampler = self.make(start=owners)
        sampler.set_epoch(0)
        state = sampler.state_dict(consumed=0)
        again = self.make(start=owners)
        again.load_state_dict(pickle.loads(pickle.dumps(state)))
        self.assertEqual(again.partition, owners)
        for other in ["random", np.zeros(1000, int)]:
            with self.assertRaisesRegex(impart.ConfigError, "the saved sampler has start"):
                self.make(start=other).load_state_dict(state)

    def test_wrong_starts_are_refused(self):
        for options, message in [
                (dict(start="by-class"), "start by-class needs labels"),
                (dict(start="sorted"), "unknown start 'sorted'"),
                (dict(start="file"), "give the owners themselves"),
                (dict(start=[0, 1]), "the start is of 2 examples"),
                (dict(start=[4] * 1000), "example 0 belongs to worker 4")]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                self.make(**options)


class DistributionTest(unittest.TestCase):
    """In distribution as NumPy's Dirichlet with the rounding of flwr-datasets."""

    @staticmethod
    def by_numpy(alpha, seed):
        random = np.random.default_rng(seed)
        counts = np.zeros((compare_flwr.WORKERS, compare_flwr.CLASSES))
        for c in range(compare_flwr.CLASSES):
            shares = random.dirichlet([alpha] * compare_flwr.WORKERS)
            cuts = (np.cumsum(shares)[:-1] * compare_flwr.PER_CLASS).astype(int)
            counts[:, c] = np.diff([0, *cuts, compare_flwr.PER_CLASS])
        return compare_flwr.class_numbers(counts)

    def test_class_shares_agree(self):
        for alpha in compare_flwr.ALPHAS:
            compared = compare_flwr.compare(compare_flwr.dirichlet_here, self.by_numpy, alpha, 200)
            for number, p in compared.items():
                self.assertGreater(p, 0.01, f"{number}, alpha {alpha}")

    def test_another_alpha_would_be_noticed(self):
        for alpha in compare_flwr.ALPHAS:
            other = lambda a, seed: self.by_numpy(3 * a, seed)
            compared = compare_flwr.compare(compare_flwr.dirichlet_here, other, alpha, 200)
            self.assertLess(min(compared.values()), 0.01, alpha)


if __name__ == "__main__":
    unittest.main()
