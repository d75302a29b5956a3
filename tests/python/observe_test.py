#!/usr/bin/env python3
"""What trackers observe: signals against their definitions, wrong input, threads.

    PYTHONPATH=build/dev/python python3 observe_test.py
"""

import threading
import unittest
import unittest.mock

import numpy as np
from support import one_batch, signals_of

import impart
from impart import _core
from impart._device import OF_ROWS

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "needs torch")


class SignalTest(unittest.TestCase):
    """What the core computes from logits, whatever they are given as."""

    NAMES = [name for name, _, features in _core.signals() if not features]

    def found(self, ids, **batch):
        notions = [notion.name for notion in impart.notions()
                   if notion.signals and set(notion.signals) <= set(self.NAMES)]
        tracker = impart.Tracker(int(np.max(np.asarray(ids))) + 1, notions)
        tracker.observe(ids, **batch)
        statistics = tracker.statistics()
        return {name: statistics[f"{name}_mean"][np.asarray(ids)] for name in self.NAMES}

    def check(self, found, logits, targets, tolerance=2e-6):
        expected = signals_of(logits, targets)
        for name in self.NAMES:
            np.testing.assert_allclose(found[name], expected[name], rtol=10 * tolerance,
                                       atol=tolerance, err_msg=name)

    def test_each_has_a_definition_and_an_implementation(self):
        names = [name for name, _, _ in _core.signals()]
        self.assertEqual(list(OF_ROWS), names)
        self.assertEqual(list(signals_of(np.zeros((1, 2)), np.array([0]), np.zeros((1, 1)))), names)

    def test_any_number_of_classes(self):
        random = np.random.default_rng(1)
        for classes in [2, 3, 15, 16, 17, 18, 31, 33, 64, 100, 1000]:
            logits = random.normal(0, 4, (9, classes)).astype(np.float32)
            targets = random.integers(classes, size=9)
            self.check(self.found(np.arange(9), logits=logits, targets=targets), logits, targets)

    def test_a_lone_class_has_no_margin(self):
        tracker = impart.Tracker(2, ["loss-average"])
        tracker.observe([0, 1], logits=np.zeros((2, 1)), targets=[0, 0])
        self.assertEqual(tracker.importance().tolist(), [0, 0])
        tracker = impart.Tracker(2, ["margin"])
        tracker.observe([0, 1], logits=np.zeros((2, 1)), targets=[0, 0])
        self.assertEqual(tracker.non_finite_visits, 2)

    def test_extreme_logits(self):
        logits = np.array([[100, -100, 0], [-1e4, 1e4, 3], [0, 0, 0], [30, 0, 0], [-80, 8, 8]],
                          np.float32)
        targets = np.array([0, 1, 2, 0, 0])
        found = self.found(np.arange(5), logits=logits, targets=targets)
        expected = signals_of(logits, targets)
        for name in ["loss", "margin", "entropy", "error_norm"]:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-12,
                                       err_msg=name)
        np.testing.assert_array_equal(found["correct"], [1, 1, 0, 1, 0])  # ties: the first class
        masked = np.array([[1.0, -np.inf, 2.0]], np.float32)
        self.check(self.found([0], logits=masked, targets=[2]), [[1.0, -1e9, 2.0]], np.array([2]))

    def test_types(self):
        random = np.random.default_rng(2)
        ids, logits, targets = one_batch(random)
        for kind in [np.float64, np.float32, np.float16]:
            given = logits.astype(kind)
            self.check(self.found(ids.astype(np.int32), logits=given,
                                  targets=targets.astype(np.uint8)), given, targets)
        strided = np.zeros((16, 10))
        strided[::2, ::2] = logits
        self.check(self.found(ids, logits=strided[::2, ::2], targets=targets), logits, targets)

    @needs_torch
    def test_tensors(self):
        random = np.random.default_rng(3)
        ids, logits, targets = one_batch(random)
        for kind in [torch.float64, torch.float32, torch.float16, torch.bfloat16]:
            given = torch.tensor(logits, requires_grad=True).to(kind)
            found = self.found(torch.tensor(ids), logits=given, targets=torch.tensor(targets))
            self.check(found, given.detach().double().numpy(), targets)
        transposed = torch.tensor(logits.T.copy()).t()
        self.check(self.found(torch.tensor(ids), logits=transposed, targets=torch.tensor(targets)),
                   logits, targets)

    def test_blocks_of_tokens(self):
        random = np.random.default_rng(4)
        logits = random.normal(size=(3, 4, 6))
        targets = random.integers(6, size=(3, 4))
        targets[1, 2:] = -100
        found = self.found([0, 1, 2], logits=logits, targets=targets)
        for i in range(3):
            counted = targets[i] >= 0
            tokens = signals_of(logits[i][counted], targets[i][counted])
            for name in self.NAMES:
                expected = (np.exp(-tokens["loss"].mean()) if name == "probability"
                            else tokens[name].mean())
                self.assertAlmostEqual(found[name][i], expected, places=5, msg=name)

    def test_losses_stand_in_for_the_cross_entropy(self):
        random = np.random.default_rng(5)
        ids, logits, targets = one_batch(random)
        losses = random.random(8)
        found = self.found(ids, logits=logits, targets=targets, loss=losses)
        expected = signals_of(logits, targets)
        np.testing.assert_allclose(found["loss"], losses, rtol=1e-6)
        np.testing.assert_allclose(found["probability"], expected["probability"], rtol=1e-5)


class WrongInputTest(unittest.TestCase):
    """Clear exceptions, and nothing is noted."""

    def refuse(self, message, *args, notions=("loss-average", "entropy"), **kwargs):
        tracker = impart.Tracker(10, list(notions))
        with self.assertRaisesRegex(impart.DataError, message):
            tracker.observe(*args, **kwargs)
        self.assertEqual(tracker.visits, 0)
        self.assertEqual(tracker.statistics()["visits"].sum(), 0)

    def test_ids(self):
        batch = {"logits": np.zeros((2, 3)), "targets": [0, 1]}
        self.refuse("id 10 is out of range: there are 10 examples", [3, 10], **batch)
        self.refuse("id -1 is out of range", [3, -1], **batch)
        self.refuse("out of range", np.array([1, 2**64 - 1], np.uint64), **batch)
        self.refuse("id 3 is there twice in one batch", [3, 3], **batch)
        self.refuse("ids are float64", [3.0, 4.0], **batch)
        self.refuse("ids are bool", [True, False], **batch)
        self.refuse("ids have shape", [[3, 4]], **batch)
        self.refuse("ids have shape", 3, **batch)
        self.refuse("ids are <U1", ["a", "b"], **batch)

    def test_shapes(self):
        self.refuse(r"logits have shape \(2, 3\) for 3 ids", [1, 2, 3], logits=np.zeros((2, 3)),
                    targets=[0, 1])
        self.refuse(r"logits have shape \(2,\)", [1, 2], logits=np.zeros(2), targets=[0, 1])
        self.refuse(r"logits have shape \(2, 0\)", [1, 2], logits=np.zeros((2, 0)), targets=[0, 1])
        self.refuse(r"targets have shape \(3,\)", [1, 2], logits=np.zeros((2, 3)),
                    targets=[0, 1, 2])
        self.refuse("targets have shape", [1, 2], logits=np.zeros((2, 3)), targets=np.eye(2, 3, dtype=int))
        self.refuse("loss has shape", [1, 2], loss=np.zeros((2, 1)), notions=["loss-average"])
        self.refuse("loss has shape", [1, 2], loss=np.float32(3), notions=["loss-average"])
        self.refuse("loss has shape", [1, 2], logits=np.zeros((2, 3)), targets=[0, 1],
                    loss=np.zeros(3))

    def test_types(self):
        self.refuse("logits are int64", [1], logits=np.zeros((1, 3), int), targets=[0])
        self.refuse("targets are float64", [1], logits=np.zeros((1, 3)), targets=[0.0])
        self.refuse("loss are complex128", [1], loss=np.zeros(1, complex),
                    notions=["loss-average"])

    def test_values(self):
        self.refuse("target 3 at position 1 is not one of 3 classes", [1, 2],
                    logits=np.zeros((2, 3)), targets=[0, 3])
        self.refuse("target -1", [1], logits=np.zeros((1, 3)), targets=[-1])
        self.refuse("target -100", [1], logits=np.zeros((1, 3)), targets=[-100])

    def test_missing(self):
        self.refuse("one of them is missing", [1], logits=np.zeros((1, 3)))
        self.refuse("neither losses nor logits", [1])
        self.refuse("entropy need logits and targets", [1], loss=np.zeros(1))
        self.refuse("grad-norm needs features", [1], logits=np.zeros((1, 3)), targets=[0],
                    notions=["grad-norm"])
        self.refuse("features have shape", [1], logits=np.zeros((1, 3)), targets=[0],
                    features=np.zeros((2, 4)), notions=["grad-norm"])

    @needs_torch
    def test_tensors_without_values(self):
        here = dict(ids=torch.arange(2), logits=torch.zeros(2, 3), targets=torch.zeros(2).long(),
                    loss=torch.zeros(2), features=torch.zeros(2, 3))
        for name in here:
            given = {**here, name: here[name].to("meta")}
            self.refuse(f"{name} is a meta tensor", given.pop("ids"), **given)
        with self.assertRaisesRegex(impart.DataError, "meta tensor"):
            impart.partition(torch.zeros(4, device="meta"), "stripes", 2)

    def test_duplicates_count_twice_if_allowed(self):
        tracker = impart.Tracker(3, ["loss-average"])
        tracker.observe([1, 1], loss=np.array([1.0, 3.0]), allow_duplicates=True)
        self.assertEqual(tracker.statistics(1)["visits"], 2)
        self.assertEqual(tracker.importance()[1], 2)

    def test_empty_batches_are_fine(self):
        tracker = impart.Tracker(3, ["loss-average", "entropy"])
        tracker.observe([], logits=np.zeros((0, 3)), targets=np.zeros(0, int))
        self.assertEqual(tracker.visits, 0)

    def test_parameters(self):
        for wrong, message in [
                (dict(num_examples=-1), "num_examples is -1"),
                (dict(num_examples=1.5), "whole number"),
                (dict(notions=[]), "at least one notion"),
                (dict(notions=["loss-varience"]), "did you mean 'loss-variance'"),
                (dict(notions=["margin", "margin"]), "twice"),
                (dict(notions="truth"), "truth"),
                (dict(notions="truth", truth=np.zeros(3)), "3 true difficulties for 5"),
                (dict(window="week"), "'interval' or 'run'"),
                (dict(ema_weight=0), "moving average"),
                (dict(seed=-1), "seed is -1"),
                (dict(ignore=-1), "ignore is -1")]:
            with self.subTest(wrong), self.assertRaisesRegex(impart.ConfigError, message):
                impart.Tracker(**{"num_examples": 5, **wrong})
        tracker = impart.Tracker(5)
        with self.assertRaisesRegex(impart.ConfigError, "does not keep the notion 'margin'"):
            tracker.importance("margin")
        with self.assertRaisesRegex(impart.ConfigError, "epoch is -1"):
            tracker.epoch = -1
        for wrong in [5, -1]:
            with self.assertRaisesRegex(impart.DataError, "out of range"):
                tracker.statistics(wrong)
        with self.assertRaisesRegex(impart.ConfigError, "history=True"):
            tracker.losses_by_epoch()

    def test_exceptions_are_also_pythons(self):
        self.assertTrue(issubclass(impart.ConfigError, ValueError))
        self.assertTrue(issubclass(impart.DataError, ValueError))
        self.assertTrue(issubclass(impart.IoError, OSError))
        self.assertEqual(impart.DataError.__module__, "impart")


class ThreadTest(unittest.TestCase):
    def test_threads_may_observe_at_once(self):
        tracker = impart.Tracker(4000, ["loss-average"])

        def work(first):
            for i in range(first, first + 1000, 10):
                tracker.observe(np.arange(i, i + 10), loss=np.full(10, float(first)))
                tracker.importance()

        threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 4000, 1000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(tracker.visits, 4000)
        np.testing.assert_array_equal(tracker.statistics()["visits"], np.ones(4000))

    def test_many_visits_in_one_epoch(self):
        tracker = impart.Tracker(1 << 19, ["loss-last"])
        ids = np.arange(1 << 19)
        for visit in range(3):
            tracker.observe(ids, loss=np.full(ids.size, float(visit)))
        self.assertEqual(tracker.visits, 3 << 19)
        self.assertEqual(set(tracker.importance().tolist()), {2.0})


if __name__ == "__main__":
    unittest.main()
