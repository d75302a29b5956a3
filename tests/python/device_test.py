#!/usr/bin/env python3
"""Trackers of tensors that are on a device: the same as on the CPU, and nothing waits.

    PYTHONPATH=build/dev/python python3 device_test.py
"""

import time
import unittest
import unittest.mock

import numpy as np
from support import BUILT_IN, signals_of

import impart
from impart import _core
from impart._device import device_signals

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "needs torch")


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
