#!/usr/bin/env python3
"""Trackers against small references in NumPy, and what they refuse.

    PYTHONPATH=build/dev/python python3 tracker_test.py
"""

import io
import threading
import time
import unittest
import unittest.mock

import numpy as np
from support import BUILT_IN, importance_of, signals_of, with_gaps_filled

import impart
from impart import _core
from impart._device import OF_ROWS, device_signals

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "needs torch")


def one_batch(random, examples=16, classes=5, batch=8):
    return (random.permutation(examples)[:batch], random.normal(0, 2, (batch, classes)),
            random.integers(classes, size=batch))


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


@needs_torch
class DevicePathTest(unittest.TestCase):
    """Signals that torch computes on a device are those of the core; here the CPU plays it."""

    DEVICE = "cpu"

    def setUp(self):
        if self.DEVICE == "cpu":
            as_device = unittest.mock.patch("impart.tracker.is_on_device", torch.is_tensor)
            as_device.start()
            self.addCleanup(as_device.stop)

    def there(self, tensor):
        return tensor.to(self.DEVICE)

    @staticmethod
    def here(tracker, ids, **batch):
        tracker.observe(ids, **{name: value.numpy() for name, value in batch.items()})

    def compare(self, here, there, notions):
        for notion in notions:
            np.testing.assert_allclose(there.importance(notion), here.importance(notion),
                                       rtol=1e-3, atol=1e-5, err_msg=notion)

    def test_the_same_as_on_the_cpu(self):
        random = np.random.default_rng(8)
        here, there = impart.Tracker(64, BUILT_IN), impart.Tracker(64, BUILT_IN)
        for epoch in range(4):
            here.epoch = there.epoch = epoch
            for ids in np.array_split(random.permutation(64), 5):
                batch = {"logits": torch.tensor(random.normal(0, 3, (ids.size, 100))).float(),
                         "targets": torch.tensor(random.integers(100, size=ids.size)),
                         "features": torch.tensor(random.normal(size=(ids.size, 7))).float()}
                self.here(here, ids, **batch)
                there.observe(self.there(torch.tensor(ids)) if epoch % 2 else ids,
                              **{name: self.there(value) for name, value in batch.items()})
        self.compare(here, there, BUILT_IN)
        self.assertEqual(there.visits, 256)

    def test_each_signal_alone(self):
        logits, targets, features = torch.randn(9, 12), torch.randint(12, (9,)), torch.randn(9, 3)
        expected = signals_of(logits.numpy(), targets.numpy(), features.numpy())
        for name, _, _ in _core.signals():
            found = device_signals([name], self.there(logits), self.there(targets), None,
                                   self.there(features))
            np.testing.assert_allclose(found[0].cpu().numpy(), expected[name], rtol=1e-4,
                                       atol=1e-6, err_msg=name)

    def test_each_notion_alone(self):
        logits, targets = torch.randn(9, 12), torch.randint(12, (9,))
        features = torch.randn(9, 3)
        for notion in BUILT_IN:
            here, there = impart.Tracker(9, [notion]), impart.Tracker(9, [notion])
            self.here(here, np.arange(9), logits=logits, targets=targets, features=features)
            there.observe(np.arange(9), logits=self.there(logits), targets=self.there(targets),
                          features=self.there(features))
            self.compare(here, there, [notion])

    def test_losses(self):
        tracker = impart.Tracker(4, ["loss-last"])
        losses = self.there(torch.arange(4.0).requires_grad_())
        tracker.observe(torch.arange(4), loss=losses)
        self.assertEqual(tracker.importance().tolist(), [0, 1, 2, 3])
        with torch.no_grad():
            losses.add_(10)  # what was noted does not change
        tracker.observe(torch.arange(3), loss=losses[:3])
        with torch.no_grad():
            losses.zero_()
        self.assertEqual(tracker.importance().tolist(), [10, 11, 12, 3])

    def test_blocks_of_tokens(self):
        notions = [notion for notion in BUILT_IN if notion != "grad-norm"]
        logits, targets = torch.randn(6, 5, 11), torch.randint(11, (6, 5))
        targets[2, 3:] = -100
        for chosen in [notions, ["confidence"]]:
            here, there = impart.Tracker(6, chosen), impart.Tracker(6, chosen)
            self.here(here, np.arange(6), logits=logits, targets=targets)
            there.observe(torch.arange(6), logits=self.there(logits), targets=self.there(targets))
            self.compare(here, there, chosen)

    def test_wrong_ids_are_found_when_they_are_fetched(self):
        tracker = impart.Tracker(4, ["loss-average"])
        tracker.observe(self.there(torch.tensor([7])), loss=self.there(torch.ones(1)))
        tracker.observe(self.there(torch.tensor([1])), loss=self.there(torch.full((1,), 2.0)))
        with self.assertRaisesRegex(impart.DataError, "id 7 is out of range"):
            tracker.importance()
        self.assertEqual(tracker.importance()[1], 2)

    def test_wrong_input(self):
        tracker = impart.Tracker(4, ["entropy"])
        logits = self.there(torch.zeros(2, 3))
        with self.assertRaisesRegex(impart.DataError, "ids are torch.float32"):
            tracker.observe(torch.zeros(2), logits=logits, targets=torch.tensor([0, 1]))
        with self.assertRaisesRegex(impart.DataError, "targets are torch.float32"):
            tracker.observe(torch.arange(2), logits=logits, targets=torch.zeros(2))
        with self.assertRaisesRegex(impart.DataError, "targets have shape"):
            tracker.observe(torch.arange(2), logits=logits, targets=torch.zeros(3).long())
        tracker.observe(torch.arange(2), logits=logits, targets=self.there(torch.tensor([0, 3])))
        self.assertEqual(tracker.non_finite_visits, 1)  # 3 is not a class

    def test_many_visits(self):
        tracker = impart.Tracker(1 << 17, ["loss-last"])
        losses = self.there(torch.zeros(1 << 17))
        for epoch in range(5):
            tracker.observe(torch.arange(1 << 17), loss=losses + epoch)
        self.assertEqual(set(tracker.importance().tolist()), {4.0})


@unittest.skipIf(torch is None or not torch.cuda.is_available(), "needs a GPU")
class CudaTest(DevicePathTest):
    """The same on a GPU."""

    DEVICE = "cuda"

    def test_nothing_waits_for_the_device(self):
        tracker = impart.Tracker(256, ["loss-variance", "forgetting", "entropy"])
        logits = torch.randn(256, 1000, device="cuda")
        targets = torch.randint(1000, (256,), device="cuda")
        tracker.observe(np.arange(256), logits=logits, targets=targets)
        torch.cuda.synchronize()
        busy = torch.randn(8192, 8192, device="cuda")
        for _ in range(20):
            busy = busy @ busy / 8192
        started = time.perf_counter()
        tracker.observe(np.arange(256), logits=logits, targets=targets)
        returned = time.perf_counter() - started
        torch.cuda.synchronize()
        self.assertLess(returned, 0.5 * (time.perf_counter() - started))


if __name__ == "__main__":
    unittest.main()
