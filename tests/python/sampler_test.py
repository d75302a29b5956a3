#!/usr/bin/env python3
"""Samplers: who visits what, resuming in mid-epoch, and what is refused.

    PYTHONPATH=build/dev/python python3 sampler_test.py
"""

import base64
import collections
import copy
import gc
import io
import json
import pathlib
import subprocess
import sys
import unittest
import weakref

import numpy as np

import impart

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "needs torch")
N = 37


def loss_of(ids, epoch):
    """A loss that depends on nothing else."""
    ids = np.asarray(ids)
    return (np.sin(ids * 12.9898 + epoch * 78.233) + 1.5).astype(np.float32)


def load_saved_state(name):
    """A JSON file in which {"bytes": ...} stands for bytes."""
    def decode(value):
        return base64.b64decode(value["bytes"]) if value.keys() == {"bytes"} else value

    path = pathlib.Path(__file__).resolve().parent / "data" / name
    return json.loads(path.read_text(), object_hook=decode)


class Ranks:
    """Samplers of all ranks in one process: every tracker is given the visits of all."""

    def __init__(self, world_size, examples=N, notions=("loss-variance", "loss-last"), **options):
        self.trackers = [impart.Tracker(examples, list(notions)) for _ in range(world_size)]
        self.samplers = [
            impart.ImportanceSampler(examples, tracker, rank=rank, world_size=world_size,
                                     **{"warmup": 2, "interval": 2, "seed": 5, **options})
            for rank, tracker in enumerate(self.trackers)]

    def train(self, epoch, **options):
        """Each rank's visits of an epoch."""
        for sampler in self.samplers:
            sampler.set_epoch(epoch, synchronise=False, **options)
        visits = [list(sampler) for sampler in self.samplers]
        everything = np.unique(np.concatenate([np.array(ids, int) for ids in visits]))
        for tracker in self.trackers:
            tracker.observe(everything, loss=loss_of(everything, epoch))
        return visits


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
            moved = set() if before is None else set(impart.move_plan(before, now).examples.tolist())
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


class ResumeTest(unittest.TestCase):
    def make(self, **options):
        tracker = impart.Tracker(N, ["loss-variance"])
        return impart.ImportanceSampler(N, tracker, "stripes", warmup=2, interval=2,
                                        **{"seed": 3, **options}), tracker

    def run_epochs(self, sampler, tracker, first, last, stop_after=None, batch=5):
        """Visits by epoch; ends in the last epoch after some batches."""
        visits = []
        for epoch in range(first, last):
            sampler.set_epoch(epoch)
            ids = list(sampler)
            seen = []
            for step, at in enumerate(range(0, len(ids), batch)):
                if epoch == last - 1 and step == stop_after:
                    break
                tracker.observe(ids[at:at + batch], loss=loss_of(ids[at:at + batch], epoch))
                seen += ids[at:at + batch]
            visits.append(seen)
        return visits

    def test_continues_with_the_remaining_examples(self):
        whole, tracker = self.make()
        expected = self.run_epochs(whole, tracker, 0, 7)
        for epoch in [0, 1, 2, 3, 5]:
            for stop in [0, 1, 4, None]:
                first, watching = self.make()
                before = self.run_epochs(first, watching, 0, epoch + 1, stop)
                state = first.state_dict()
                second, watching = self.make()
                second.load_state_dict(state)
                self.assertEqual(second.next_epoch, epoch + (stop is None))
                self.assertEqual(len(second), N - len(before[-1]))
                rest = self.run_epochs(second, watching, second.epoch, 7)
                with self.subTest(epoch=epoch, stop=stop):
                    self.assertEqual(before[-1] + rest[0], expected[epoch])
                    self.assertEqual(rest[1:], expected[epoch + 1:])
                    np.testing.assert_array_equal(watching.importance(), tracker.importance())

    @needs_torch
    def test_what_the_loader_drew_ahead_is_not_consumed(self):
        for workers in [0, 2]:
            sampler, tracker = self.make()
            data = impart.IndexedDataset(torch.arange(float(N)))
            sampler.set_epoch(0)
            order = list(sampler)
            sampler.set_epoch(0)
            loader = DataLoader(data, batch_size=4, sampler=sampler, num_workers=workers)
            consumed = []
            for step, (ids, x) in enumerate(loader):
                self.assertEqual(ids.tolist(), x.int().tolist())
                tracker.observe(ids, loss=x)
                consumed += ids.tolist()
                if step == 2:
                    file = io.BytesIO()
                    torch.save(sampler.state_dict(), file)
                    break
            file.seek(0)
            resumed, tracker = self.make()
            resumed.load_state_dict(torch.load(file))
            loader = DataLoader(data, batch_size=4, sampler=resumed, num_workers=workers)
            self.assertEqual(len(loader), 7)
            resumed.set_epoch(0)
            rest = [i for ids, _ in loader for i in ids.tolist()]
            self.assertEqual(consumed + rest, order)
            self.assertEqual(len(consumed), 12)

    @needs_torch
    def test_loaders_take_batches_in_this_process_and_in_others(self):
        for workers in [0, 2]:
            sampler, tracker = self.make()
            batches = impart.ImportanceBatchSampler(sampler, 5)
            loader = DataLoader(impart.IndexedDataset(torch.arange(float(N))),
                                batch_sampler=batches, num_workers=workers)
            lone = DataLoader(torch.arange(N), batch_size=None, sampler=sampler,
                              num_workers=workers)
            for epoch in range(3):
                batches.set_epoch(epoch)
                self.assertEqual(sorted(int(i) for i in lone), list(range(N)))
                batches.set_epoch(epoch)
                seen = []
                for ids, x in loader:
                    tracker.observe(ids, loss=x)
                    seen += ids.tolist()
                self.assertEqual(sorted(seen), list(range(N)))
                with self.assertRaisesRegex(impart.ConfigError, "call set_epoch"):
                    next(iter(loader))

    def test_batches_resume_at_their_borders(self):
        def make():
            sampler = impart.ImportanceSampler(N, heuristic="random", interval=1, workers=3)
            return impart.ImportanceBatchSampler(sampler, 4)

        whole = make()
        whole.set_epoch(2)
        expected = list(whole)
        first = make()
        first.set_epoch(2)
        consumed = expected[:2]
        resumed = make()
        resumed.load_state_dict(first.state_dict(consumed=sum(map(len, consumed))))
        self.assertEqual(len(resumed), len(expected) - 2)
        self.assertEqual(consumed + list(resumed), expected)
        resumed = make()
        resumed.load_state_dict(first.state_dict(consumed=5))
        with self.assertRaisesRegex(impart.ConfigError, "5 examples .* not the end of a batch"):
            list(resumed)

    def test_without_a_tracker_the_loop_counts(self):
        def make():
            return impart.ImportanceSampler(N, heuristic="random", interval=1)

        sampler = make()
        order = list(sampler)
        with self.assertRaisesRegex(impart.ConfigError, "nobody counted"):
            sampler.state_dict()
        resumed = make()
        resumed.load_state_dict(sampler.state_dict(consumed=10))
        self.assertEqual(list(resumed), order[10:])
        sampler.advance(4)
        sampler.advance(7)
        resumed = make()
        resumed.load_state_dict(sampler.state_dict())
        self.assertEqual(list(resumed), order[11:])
        with self.assertRaisesRegex(impart.ConfigError, "99 examples were consumed"):
            sampler.state_dict(consumed=99)

    def test_arrivals_are_kept(self):
        def make():
            return impart.ImportanceSampler(N, heuristic="random", warmup=0, interval=0, workers=4,
                                            exchange="partial", arrivals_last=True)

        sampler = make()
        for epoch in range(3):
            sampler.set_epoch(epoch)
        order = list(sampler)
        resumed = make()
        resumed.load_state_dict(sampler.state_dict(consumed=10))
        self.assertEqual(list(resumed), order[10:])
        for one in [sampler, resumed]:
            one.set_epoch(3)
        self.assertEqual(list(resumed), list(sampler))

    def test_states_of_earlier_versions(self):
        """Saved before arrivals could come last."""
        saved = load_saved_state("sampler_state_1.json")
        tracker = impart.Tracker(11, ["loss-variance"])
        options = dict(warmup=2, interval=2, seed=3, workers=2)
        sampler = impart.ImportanceSampler(11, tracker, "stripes", **options)
        sampler.load_state_dict(saved["state"])
        self.assertEqual((sampler.epoch, tracker.visits), (4, 4 * 12 + 4))
        self.assertEqual(list(sampler), saved["order"][saved["consumed"]:])
        other = impart.ImportanceSampler(11, impart.Tracker(11), "stripes", arrivals_last=True,
                                         **options)
        with self.assertRaisesRegex(impart.ConfigError, "arrivals_last False, this one True"):
            other.load_state_dict(saved["state"])

    def test_copies_go_on_alike(self):
        sampler = impart.ImportanceSampler(N, heuristic="random", warmup=1, interval=0, workers=3,
                                           exchange="partial", arrivals_last=True)
        for epoch in range(3):
            sampler.set_epoch(epoch)
        twin = copy.deepcopy(sampler)
        for epoch in range(2, 5):
            for one in [sampler, twin]:
                one.set_epoch(epoch)
            self.assertEqual(list(twin), list(sampler))

    def test_states_that_do_not_fit(self):
        sampler, _ = self.make(rank=0, world_size=2)
        state = sampler.state_dict()
        with self.assertRaisesRegex(impart.ConfigError, "saved by 2 ranks, and now there are 3"):
            self.make(rank=0, world_size=3)[0].load_state_dict(state)
        with self.assertRaisesRegex(impart.ConfigError, "seed 3, this one 4"):
            self.make(rank=0, world_size=2, seed=4)[0].load_state_dict(state)
        with self.assertRaisesRegex(impart.ConfigError, "uneven 'pad', this one 'drop'"):
            self.make(rank=0, world_size=2, uneven="drop")[0].load_state_dict(state)
        with self.assertRaisesRegex(impart.DataError, "not the state"):
            sampler.load_state_dict({"format": 1})
        random = impart.ImportanceSampler(N, heuristic="random")
        with self.assertRaises(impart.ConfigError):
            random.load_state_dict(state)


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
