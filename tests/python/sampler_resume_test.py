#!/usr/bin/env python3
"""Samplers: resuming in mid-epoch, and states.

    PYTHONPATH=build/dev/python python3 sampler_resume_test.py
"""

import base64
import copy
import io
import json
import pathlib
import unittest

import numpy as np
from ranks import N, loss_of

import impart

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "needs torch")


def load_saved_state(name):
    """A JSON file in which {"bytes": ...} stands for bytes."""
    def decode(value):
        return base64.b64decode(value["bytes"]) if value.keys() == {"bytes"} else value

    path = pathlib.Path(__file__).resolve().parent / "data" / name
    return json.loads(path.read_text(), object_hook=decode)


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


if __name__ == "__main__":
    unittest.main()
