#!/usr/bin/env python3
"""Samplers: who visits what, by whose decision.

    PYTHONPATH=build/dev/python python3 sampler_test.py
"""

import collections
import gc
import subprocess
import sys
import unittest
import weakref

import numpy as np
from ranks import N, Ranks, loss_of

import impart


class CoverTest(unittest.TestCase):
    def test_each_example_once_over_all_ranks(self):
        for world_size in [1, 2, 3, 4]:
            for heuristic in [row.name for row in impart.heuristics()]:
                ranks = Ranks(world_size, heuristic=heuristic, uneven="weight",
                              labels=np.arange(N) % 5)
                for epoch in range(6):
                    visits = ranks.train(epoch)
                    self.assertEqual(sorted(sum(visits, [])), list(range(N)))
                    for sampler, ids in zip(ranks.samplers, visits):
                        self.assertEqual(len(sampler), len(ids))
                        part = sampler.partition.parts[sampler.rank]
                        self.assertEqual(sorted(ids), part.tolist())
                        self.assertNotEqual(ids, sorted(ids))

    def test_padding_and_dropping_make_ranks_equal(self):
        for world_size in [2, 3, 4]:
            for uneven, length in [("pad", -(-N // world_size)), ("drop", N // world_size)]:
                ranks = Ranks(world_size, uneven=uneven)
                for epoch in range(5):
                    visits = ranks.train(epoch)
                    self.assertEqual([len(ids) for ids in visits], [length] * world_size)
                    counts = collections.Counter(sum(visits, []))
                    if uneven == "pad":
                        self.assertEqual(len(counts), N)
                        for ids in visits:
                            if len(set(ids)) < length:
                                self.assertEqual(ids[-1], ids[0])
                    else:
                        self.assertEqual(set(counts.values()), {1})

    def test_exchanges_move_their_fraction(self):
        for strategy in [row.name for row in impart.exchanges()]:
            ranks = Ranks(4, examples=40, heuristic="random", warmup=0, interval=0,
                          exchange=strategy, fraction=0.3, uneven="weight")
            losses = loss_of(np.arange(40), 0)
            before = None
            for epoch in range(4):
                visits = ranks.train(epoch, losses=(lambda: losses))
                self.assertEqual(sorted(sum(visits, [])), list(range(40)))
                now = ranks.samplers[0].partition
                if before is not None and strategy != "balance-pair":
                    moved = impart.move_plan(before, now).examples.size
                    self.assertTrue(0 < moved <= 12, (strategy, moved))
                before = now

    def test_exchanges_take_doubles_as_they_are(self):
        losses = 10.0 ** -(50 + np.arange(N))  # all 0 as floats
        sampler = impart.ImportanceSampler(N, heuristic="random", warmup=0, interval=0, workers=4,
                                           exchange="is-pair", fraction=0.5)
        sampler.set_epoch(0)
        before = sampler.partition
        sampler.set_epoch(1, losses=lambda: losses)
        self.assertEqual(sampler.partition,
                         impart.exchange(before, "is-pair", 0.5, losses, epoch=1))
        self.assertNotEqual(sampler.partition, impart.exchange(before, "is-pair", 0.5,
                                                               losses.astype(np.float32), epoch=1))

    def test_workers_of_one_rank_come_in_turn(self):
        alone = impart.ImportanceSampler(N, warmup=3, workers=4, rank=0, world_size=1)
        spread = [impart.ImportanceSampler(N, warmup=3, rank=r, world_size=4) for r in range(4)]
        alone.set_epoch(0)
        parts = []
        for sampler in spread:
            sampler.set_epoch(0)
            parts.append(list(sampler))
        self.assertEqual(list(alone), [parts[w][i] for i in range(10) for w in range(4)])

    def test_a_schedule_without_an_end(self):
        """Repartitions every interval; with `epochs` the last interval absorbs what is left."""
        def deals(epochs):
            ranks = Ranks(2, warmup=1, interval=3, epochs=epochs)
            parts = []
            for epoch in range(9):
                ranks.train(epoch)
                parts.append(ranks.samplers[0].partition.owners.tobytes())
            return [epoch for epoch in range(1, 9) if parts[epoch] != parts[epoch - 1]]

        self.assertEqual(deals(None), [1, 4, 7])
        self.assertEqual(deals(9), [1, 4])

    def test_importance_decides(self):
        ranks = Ranks(2, heuristic="blocks", notion="loss-last", warmup=1, interval=1)
        ranks.train(0)
        ranks.train(1)
        first = ranks.samplers[0].partition.parts[0]
        hardest = np.argsort(-loss_of(np.arange(N), 0), kind="stable")[:N // 2]
        self.assertEqual(set(first.tolist()), set(hardest.tolist()))

    def test_padding_is_not_observed(self):
        tracker = impart.Tracker(5, ["loss-average"])
        sampler = impart.ImportanceSampler(5, tracker, "random", rank=1, world_size=2, warmup=9)
        sampler.set_epoch(0)
        ids = list(sampler)
        self.assertEqual((len(ids), len(set(ids))), (3, 2))
        tracker.observe(ids, loss=np.array([1.0, 2.0, 9.0]))
        self.assertEqual(tracker.statistics()["visits"].sum(), 2)
        self.assertEqual(tracker.statistics(ids[0])["loss_mean"], 1)

    def test_arrivals_come_last(self):
        """And else in the same order."""
        options = dict(examples=40, heuristic="random", warmup=0, interval=0, exchange="partial",
                       fraction=0.3, uneven="weight")
        plain, last = Ranks(2, **options), Ranks(2, arrivals_last=True, **options)
        before = None
        for epoch in range(4):
            usual, found = plain.train(epoch), last.train(epoch)
            now = last.samplers[0].partition
            self.assertEqual(now, plain.samplers[0].partition)
            moved = set(impart.move_plan(before or now, now).examples.tolist())
            self.assertEqual(bool(moved), epoch > 0)
            for mine, others in zip(usual, found):
                self.assertEqual(others, [i for i in mine if i not in moved]
                                 + [i for i in mine if i in moved])
            before = now

    def test_functions_as_heuristics(self):
        def halves(importance, workers):
            return np.arange(importance.size) * workers // importance.size

        ranks = Ranks(2, heuristic=halves, warmup=1, interval=1, uneven="weight")
        ranks.train(0)
        visits = ranks.train(1)
        self.assertEqual(sorted(visits[0]), list(range(19)))

    def test_functions_get_what_they_have_parameters_for(self):
        calls = []

        def alike(importance, workers, previous, labels, seed, epoch):
            calls.append((importance.dtype, workers, previous, labels.tolist(), seed, epoch))
            return previous

        ranks = Ranks(2, heuristic=alike, labels=np.arange(N) % 3, warmup=1, interval=1)
        ranks.train(0)
        first = ranks.samplers[1].partition
        ranks.train(1)
        self.assertEqual(len(calls), 2)
        self.assertEqual(calls[1], (np.float32, 2, first, [i % 3 for i in range(N)], 5, 1))
        self.assertEqual(ranks.samplers[1].partition, first)

    def test_exceptions_of_functions_come_through(self):
        class NotToday(Exception):
            pass

        def refuse(importance, workers):
            raise NotToday("come back tomorrow")

        def too_few(importance, workers):
            return np.zeros(3, int)

        for function, exception, message in [(refuse, NotToday, "^come back tomorrow$"),
                                             (too_few, impart.DataError, "heuristic too_few: ")]:
            ranks = Ranks(1, heuristic=function, warmup=1, interval=1)
            visits, = ranks.train(0)
            sampler, = ranks.samplers
            with self.assertRaisesRegex(exception, message):
                sampler.set_epoch(1)
            self.assertEqual(sampler.epoch, 0)
            sampler.set_epoch(0)
            self.assertEqual(list(sampler), visits)

    def test_samplers_are_collected_with_the_functions_that_know_them(self):
        def deal(importance, workers):
            return np.arange(importance.size) % len(sampler.partition.sizes)

        sampler = impart.ImportanceSampler(N, heuristic=deal, warmup=1, interval=1)
        sampler.set_epoch(0)
        sampler.tracker.observe(range(N), loss=np.ones(N))
        sampler.set_epoch(1)
        gone = weakref.ref(sampler)
        del sampler, deal
        gc.collect()
        self.assertIsNone(gone())

    def test_a_sampler_makes_the_tracker_that_it_needs(self):
        self.assertIsNone(impart.ImportanceSampler(N, heuristic="random").tracker)
        sampler = impart.ImportanceSampler(N, ignore=1, seed=3)
        self.assertEqual((sampler.tracker.notions, sampler.tracker.ignore),
                         (["loss-variance"], 1))
        lagging = impart.ImportanceSampler(N, heuristic="random", exchange="ilag-pair")
        self.assertEqual(lagging.tracker.notions, ["loss-last"])
        sampler.set_epoch(0)
        sampler.set_epoch(1)
        self.assertEqual(sampler.tracker.epoch, 1)


class BatchTest(unittest.TestCase):
    def test_batches_are_runs_of_the_order(self):
        for drop_last in [False, True]:
            sampler = impart.ImportanceSampler(N, warmup=9, rank=0, world_size=2)
            batches = impart.ImportanceBatchSampler(sampler, 4, drop_last)
            self.assertEqual(len(batches), 4 if drop_last else 5)
            batches.set_epoch(0)
            found = list(batches)
            self.assertEqual(len(found), len(batches))
            sampler.set_epoch(0)
            order = list(sampler)
            self.assertEqual(sum(found, []), order[:16] if drop_last else order)
            self.assertEqual([len(b) for b in found], [4] * 4 + ([] if drop_last else [3]))

    def test_a_rank_with_two_workers_has_a_batch_of_each(self):
        sampler = impart.ImportanceSampler(N, warmup=9, workers=4, rank=1, world_size=2,
                                           uneven="weight")
        batches = impart.ImportanceBatchSampler(sampler, 4)
        batches.set_epoch(0)
        found = list(batches)
        for batch in found[:2]:
            owners = sampler.partition.owners[batch].tolist()
            self.assertEqual(owners, [2] * 4 + [3] * 4)
        self.assertEqual(sorted(sum(found, [])),
                         sorted([*sampler.partition.parts[2], *sampler.partition.parts[3]]))

    def test_wrong_parameters(self):
        sampler = impart.ImportanceSampler(N)
        with self.assertRaisesRegex(impart.ConfigError, "batch_size is 0"):
            impart.ImportanceBatchSampler(sampler, 0)
        with self.assertRaisesRegex(impart.ConfigError, "not range"):
            impart.ImportanceBatchSampler(range(3), 2)


class WithoutTorchTest(unittest.TestCase):
    def test_everything_but_the_loader_works(self):
        program = """if True:
            import sys
            sys.modules["torch"] = None  # importing it fails
            import numpy as np
            import impart
            sampler = impart.ImportanceSampler(10, warmup=1, interval=1)
            for epoch in range(3):
                sampler.set_epoch(epoch)
                ids = list(sampler)
                assert sorted(ids) == list(range(10))
                sampler.tracker.observe(ids, logits=np.eye(10), targets=np.arange(10))
            sampler.load_state_dict(sampler.state_dict())
            assert sampler.next_epoch == 3
            """
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class IndexedDatasetTest(unittest.TestCase):
    def test_examples_come_with_their_index(self):
        self.assertEqual(impart.IndexedDataset([("a", 1), ("b", 2)])[1], (1, "b", 2))
        self.assertEqual(impart.IndexedDataset([{"x": 5}])[0], {"index": 0, "x": 5})
        self.assertEqual(impart.IndexedDataset("xyz")[2], (2, "z"))
        self.assertEqual(impart.IndexedDataset("xyz").__getitems__([2, 0]), [(2, "z"), (0, "x")])
        self.assertEqual(len(impart.IndexedDataset("xyz")), 3)
        with self.assertRaisesRegex(KeyError, "'index' already"):
            impart.IndexedDataset([{"index": 5}])[0]


if __name__ == "__main__":
    unittest.main()
