#!/usr/bin/env python3
"""Samplers: what is refused, and how.

    PYTHONPATH=build/dev/python python3 sampler_misuse_test.py
"""

import unittest
import warnings

import numpy as np
from ranks import N

import impart

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "needs torch")


class WrongUseTest(unittest.TestCase):
    def test_a_second_iteration_needs_set_epoch(self):
        sampler = impart.ImportanceSampler(N, warmup=3)
        first = list(sampler)
        with self.assertRaisesRegex(impart.ConfigError, "epoch 0 was iterated already: call set_e"):
            list(sampler)
        sampler.set_epoch(0)
        self.assertEqual(list(sampler), first)  # the same epoch, from its start
        sampler.set_epoch(1)
        self.assertNotEqual(list(sampler), first)

    @needs_torch
    def test_a_loader_without_set_epoch(self):
        loader = DataLoader(torch.arange(N), sampler=impart.ImportanceSampler(N, warmup=3))
        self.assertIsInstance(loader.sampler, torch.utils.data.Sampler)
        self.assertEqual(len(list(loader)), N)
        with self.assertRaisesRegex(impart.ConfigError, "call set_epoch"):
            list(loader)

    def test_a_sampler_that_cannot_matter_says_so_once(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                impart.ImportanceSampler(4, heuristic="stripes")
            impart.ImportanceSampler(4, heuristic="stripes", workers=2)
        self.assertEqual(len(caught), 1)
        self.assertIn("one rank and one worker", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)

    def test_epochs_that_do_not_follow(self):
        sampler = impart.ImportanceSampler(N, warmup=2, interval=2)
        sampler.set_epoch(1)
        with self.assertRaisesRegex(impart.ConfigError, "epoch 0 after epoch 1"):
            sampler.set_epoch(0)
        with self.assertRaisesRegex(impart.ConfigError, "at epoch 2 the examples are dealt by"):
            sampler.set_epoch(3)
        with self.assertRaisesRegex(impart.ConfigError, "epoch is -1"):
            sampler.set_epoch(-1)
        with self.assertRaisesRegex(impart.ConfigError, "nothing was observed"):
            sampler.set_epoch(2)
        limited = impart.ImportanceSampler(N, heuristic="random", warmup=2, interval=1, epochs=4)
        limited.set_epoch(3)
        with self.assertRaisesRegex(impart.ConfigError, "epoch 4 of a run of 4 epochs"):
            limited.set_epoch(4)

    def test_ranks_that_do_not_know_each_other(self):
        sampler = impart.ImportanceSampler(N, warmup=1, interval=1, rank=0, world_size=2)
        sampler.set_epoch(0)
        sampler.tracker.observe([1], loss=np.ones(1))
        with self.assertRaisesRegex(impart.ConfigError, "rank 0 of 2 without torch.distributed"):
            sampler.set_epoch(1)

    def test_exchanges_that_lack_their_importance(self):
        sampler = impart.ImportanceSampler(N, heuristic="random", warmup=0, interval=0,
                                           exchange="is", workers=4)
        sampler.set_epoch(0)
        with self.assertRaisesRegex(impart.ConfigError, "losses="):
            sampler.set_epoch(1)
        with self.assertRaisesRegex(impart.ConfigError, "3 scores for 37"):
            sampler.set_epoch(1, losses=np.zeros(3))

    def test_parameters(self):
        tracker = impart.Tracker(N)
        for wrong, message in [
                (dict(heuristic="strips"), "did you mean 'stripes'"),
                (dict(exchange="partiel"), "did you mean 'partial'"),
                (dict(uneven="odd"), "'pad', 'drop' or 'weight'"),
                (dict(shuffle="well"), "'per-worker' or 'shared'"),
                (dict(rank=2, world_size=2), "rank is 2"),
                (dict(rank=0, world_size=0), "world_size is 0"),
                (dict(workers=1, rank=0, world_size=2), "2 ranks for 1 workers"),
                (dict(fraction=2), "fraction is 2"),
                (dict(heuristic="class-stripes"), "needs labels"),
                (dict(notion="margin"), "does not keep the notion 'margin'"),
                (dict(ignore=3), "ignores 3 epochs, its tracker 0"),
                (dict(exchange="ilag-pair"), "does not keep the notion 'loss-last'"),
                (dict(warmup=5, epochs=3), "does not fit"),
                (dict(warmup=-1), "warmup is -1"),
                (dict(interval=1.5), "whole number"),
                (dict(seed="x"), "whole number"),
                (dict(rank=0, world_size=N + 1), "nothing to repeat")]:
            with self.subTest(wrong), self.assertRaisesRegex(impart.ConfigError, message):
                impart.ImportanceSampler(N, tracker, **wrong)
        with self.assertRaisesRegex(impart.ConfigError, "for 37 examples, the sampler for 36"):
            impart.ImportanceSampler(N - 1, tracker)
        with self.assertRaisesRegex(impart.ConfigError, "leaves none to learn"):
            impart.ImportanceSampler(N, ignore=3, warmup=2)
        with self.assertRaisesRegex(impart.ConfigError, "number of examples is None"):
            impart.ImportanceSampler(None)
        for sized in [range(N), np.zeros((N, 2)), [0] * N, np.int64(N)]:
            self.assertEqual(len(impart.ImportanceSampler(sized)), N)


if __name__ == "__main__":
    unittest.main()
