#!/usr/bin/env python3
"""Trackers: every notion against small references in NumPy, and notions of your own.

    PYTHONPATH=build/dev/python python3 tracker_test.py
"""

import unittest

import numpy as np
from support import BUILT_IN, importance_of, signals_of, with_gaps_filled

import impart


class NotionTest(unittest.TestCase):
    """Every notion from random histories, against its definition."""

    def check(self, seed, ignore, epochs, close_after=()):
        random = np.random.default_rng(seed)
        examples, classes, width = int(random.integers(1, 40)), int(random.integers(2, 30)), 3
        tracker = impart.Tracker(examples, BUILT_IN, ignore=ignore)
        window = [[] for _ in range(examples)]
        run = [[] for _ in range(examples)]
        known = {notion: None for notion in BUILT_IN}

        def check_importance():
            for notion in BUILT_IN:
                values = [importance_of(notion, window[i], run[i]) for i in range(examples)]
                if notion == "loss-variance" and all(value is None for value in values):
                    values = [importance_of("loss-average", window[i], run[i])
                              for i in range(examples)]
                expected, values = with_gaps_filled(values, known[notion])
                with self.subTest(notion=notion, seed=seed):
                    np.testing.assert_allclose(tracker.importance(notion), expected, rtol=2e-4,
                                               atol=2e-5)
                yield notion, values

        for epoch in range(epochs):
            tracker.epoch = epoch
            ids = random.permutation(examples)[:int(random.integers(0, examples + 1))]
            for batch in np.array_split(ids, 3):
                logits = random.normal(0, 3, (batch.size, classes)).astype(np.float32)
                targets = random.integers(classes, size=batch.size)
                features = random.normal(size=(batch.size, width)).astype(np.float32)
                tracker.observe(batch, logits=logits, targets=targets, features=features)
                signals = signals_of(logits, targets, features)
                for row, i in enumerate(batch):
                    visit = {name: values[row] for name, values in signals.items()}
                    run[i].append(visit)
                    if epoch >= ignore:
                        window[i].append(visit)
            remembered = dict(check_importance())
            if epoch in close_after:
                tracker.close_window()
                known = remembered
                window = [[] for _ in range(examples)]

    def test_random_histories(self):
        for seed in range(12):
            self.check(seed, ignore=seed % 3, epochs=6)

    def test_windows(self):
        for seed in range(12):
            self.check(100 + seed, ignore=0, epochs=7, close_after=(2, 4))

    def test_truth_and_noise(self):
        truth = np.linspace(0, 1, 10).astype(np.float32)
        tracker = impart.Tracker(10, ["truth", "random"], truth=truth, seed=5)
        np.testing.assert_array_equal(tracker.importance("truth"), truth)
        noise = tracker.importance("random")
        self.assertEqual(len(set(noise.tolist())), 10)
        np.testing.assert_array_equal(impart.Tracker(10, ["random"], seed=5).importance(), noise)
        tracker.close_window()
        self.assertFalse(np.array_equal(tracker.importance("random"), noise))

    def test_all_names_are_checked_here(self):
        self.assertEqual([row.name for row in impart.notions()], BUILT_IN + ["random", "truth"])

    def test_visits_that_are_not_finite_are_the_most_important(self):
        tracker = impart.Tracker(4, ["loss-average"])
        tracker.observe([0, 1, 2], loss=np.array([1.0, np.nan, 3.0]))
        tracker.observe([3], loss=np.array([np.inf]))
        np.testing.assert_array_equal(tracker.importance(), [1, 3, 3, 3])
        self.assertEqual(tracker.non_finite_visits, 2)

    def test_window_of_the_run_forgets_nothing(self):
        tracker = impart.Tracker(2, ["loss-average"], window="run")
        tracker.observe([0, 1], loss=np.array([1.0, 5.0]))
        tracker.close_window()
        tracker.observe([0], loss=np.array([3.0]))
        np.testing.assert_array_equal(tracker.importance(), [2, 5])


class CallableTest(unittest.TestCase):
    def test_functions_follow_the_rules_of_the_table(self):
        def twice_the_mean(statistics):
            mean = 2 * statistics["loss_mean"]
            return np.where(statistics["visits"] > 0, mean, np.nan)

        tracker = impart.Tracker(4, ["loss-average", twice_the_mean])
        self.assertEqual(tracker.notions, ["loss-average", "twice_the_mean"])
        tracker.observe([0, 1], loss=np.array([1.0, 2.0]))
        np.testing.assert_array_equal(tracker.importance("twice_the_mean"), [2, 4, 3, 3])
        tracker.close_window()
        tracker.observe([0, 2], loss=np.array([5.0, np.nan]))
        np.testing.assert_array_equal(tracker.importance("twice_the_mean"), [10, 4, 10, 8])
        again = impart.Tracker(4, ["loss-average", twice_the_mean])
        again.load_state_dict(tracker.state_dict())
        np.testing.assert_array_equal(again.importance("twice_the_mean"), [10, 4, 10, 8])

    def test_functions_say_what_they_need(self):
        def forgotten(statistics):
            return statistics["forgotten"]

        forgotten.needs = "forgetting"
        tracker = impart.Tracker(2, {"mine": forgotten})
        self.assertEqual(sorted(tracker.statistics(0)),
                         ["ever_correct", "forgotten", "non_finite", "run_visits", "visits"])
        for epoch, right in enumerate([True, False, True, False]):
            tracker.epoch = epoch
            tracker.observe([0], logits=np.eye(2)[[0 if right else 1]], targets=[0])
        self.assertEqual(tracker.importance("mine")[0], 2)

    def test_wrong_functions(self):
        for wrong in [lambda s: s["visits"][:1], lambda s: "much", lambda s: None]:
            with self.assertRaisesRegex(impart.DataError, "must give 3 numbers"):
                impart.Tracker(3, {"wrong": wrong}).importance()
        with self.assertRaisesRegex(impart.ConfigError, "built-in notion 'margin'"):
            impart.Tracker(3, {"margin": len})
        with self.assertRaisesRegex(impart.ConfigError, "must be a function"):
            impart.Tracker(3, {"mine": 3})


if __name__ == "__main__":
    unittest.main()
