#!/usr/bin/env python3
"""States of trackers: saving, loading, merging.

    PYTHONPATH=build/dev/python python3 tracker_state_test.py
"""

import io
import unittest

import numpy as np
from support import one_batch

import impart

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "needs torch")


class StateTest(unittest.TestCase):
    def test_a_loaded_tracker_goes_on_bit_for_bit(self):
        random = np.random.default_rng(6)
        notions = ["loss-variance", "forgetting", "loss-ema"]
        whole = impart.Tracker(16, notions, history=True)
        parts = impart.Tracker(16, notions, history=True)
        for epoch in range(5):
            whole.epoch = parts.epoch = epoch
            for _ in range(3):
                ids, logits, targets = one_batch(random)
                whole.observe(ids, logits=logits, targets=targets)
                parts.observe(ids, logits=logits, targets=targets)
                fresh = impart.Tracker(16, notions, history=True)
                fresh.load_state_dict(parts.state_dict())
                parts = fresh
            if epoch == 2:
                whole.close_window()
                parts.close_window()
        self.assertEqual(parts.visits, 5 * 3 * 8)
        for notion in notions:
            np.testing.assert_array_equal(parts.importance(notion), whole.importance(notion))
        np.testing.assert_array_equal(parts.losses_by_epoch(), whole.losses_by_epoch())
        self.assertEqual(parts.losses_by_epoch().shape, (16, 5))

    @needs_torch
    def test_torch_saves_it(self):
        tracker = impart.Tracker(8)
        tracker.observe(np.arange(8), loss=np.arange(8.0))
        file = io.BytesIO()
        torch.save(tracker.state_dict(), file)
        file.seek(0)
        again = impart.Tracker(8)
        again.load_state_dict(torch.load(file))
        np.testing.assert_array_equal(again.importance(), tracker.importance())

    def test_states_that_do_not_fit(self):
        state = impart.Tracker(8).state_dict()
        with self.assertRaisesRegex(impart.ConfigError, "num_examples 8, this one 9"):
            impart.Tracker(9).load_state_dict(state)
        with self.assertRaisesRegex(impart.ConfigError, "notions"):
            impart.Tracker(8, ["loss-average"]).load_state_dict(state)
        with self.assertRaisesRegex(impart.DataError, "not the state"):
            impart.Tracker(8).load_state_dict({})
        damaged = bytearray(state["table"])
        damaged[-100] ^= 1
        with self.assertRaisesRegex(impart.DataError, "checksum"):
            impart.Tracker(8).load_state_dict({**state, "table": bytes(damaged)})
        tracker = impart.Tracker(8)
        tracker.observe([1], loss=np.ones(1))
        other_rank = {**tracker.state_dict(), "rank": 3, "world_size": 4}
        self.assertTrue(other_rank["waiting"])
        with self.assertRaisesRegex(impart.ConfigError, "rank 3 of 4"):
            impart.Tracker(8).load_state_dict(other_rank)

    def test_merged_trackers_have_seen_the_visits_of_both(self):
        random = np.random.default_rng(7)
        both, left, right = (impart.Tracker(20, ["loss-variance", "loss-last"]) for _ in range(3))
        for epoch in range(3):
            for tracker, ids in [(left, np.arange(10)), (right, np.arange(10, 20))]:
                losses = random.random(10)
                tracker.epoch = both.epoch = epoch
                tracker.observe(ids, loss=losses)
                both.observe(ids, loss=losses)
        left.merge(right)
        for notion in both.notions:
            np.testing.assert_array_equal(left.importance(notion), both.importance(notion))
        self.assertEqual(left.visits, both.visits)
        left.synchronise()  # alone: nothing to wait for
        left.merge()
        for wrong in [left, 3, impart.Tracker(19)]:
            with self.assertRaises(impart.ConfigError):
                left.merge(wrong)


if __name__ == "__main__":
    unittest.main()
