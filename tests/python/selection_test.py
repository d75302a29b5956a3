#!/usr/bin/env python3
"""Samplers that visit less than everything, with weights.

    PYTHONPATH=build/dev/python python3 selection_test.py
"""

import pickle
import unittest

import numpy as np
from ranks import N, Ranks, loss_of

import impart

NOTIONS = ("loss-average", "loss-last", "forgetting")


def easy_logits(ids):
    """Two classes; the right one is 1, and likelier for larger ids."""
    chance = 0.5 + 0.49 * np.asarray(ids) / N
    return np.stack([np.log1p(-chance), np.log(chance)], 1).astype(np.float32)


class Selecting(Ranks):
    """Visits bring whether they were right, too."""

    def __init__(self, world_size, selection, **options):
        super().__init__(world_size, notions=NOTIONS, uneven="weight", epochs=8,
                         selection=selection, **options)

    def train(self, epoch):
        for sampler in self.samplers:
            sampler.set_epoch(epoch, synchronise=False)
        visits = [list(sampler) for sampler in self.samplers]
        everything = np.unique(np.concatenate([np.array(ids, int) for ids in visits]))
        for tracker in self.trackers:
            tracker.observe(everything, logits=easy_logits(everything),
                            targets=np.ones(everything.size, int))
        return visits


class EverySelectionTest(unittest.TestCase):
    def test_ranks_visit_what_they_own_and_hide_the_rest(self):
        for row in impart.selections():
            ranks = Selecting(3, {"strategy": row.name, "threshold": 0})
            for epoch in range(5):
                for sampler, ids in zip(ranks.samplers, ranks.train(epoch)):
                    part = sampler.partition.parts[sampler.rank].tolist()
                    self.assertLessEqual(set(ids), set(part), row.name)
                    self.assertEqual(sorted(set(ids) | set(sampler.hidden.tolist())), part)

    def test_ranks_agree(self):
        for row in impart.selections():
            ranks = Selecting(2, row.name)
            for epoch in range(4):
                ranks.train(epoch)
                weights = [sampler.weights(range(N)) for sampler in ranks.samplers]
                np.testing.assert_array_equal(weights[0], weights[1])

    def test_a_state_inside_an_epoch_goes_on_as_the_sampler_would_have(self):
        for row in impart.selections():
            whole = Selecting(1, {"strategy": row.name, "threshold": 0}, workers=2)
            for epoch in range(3):
                whole.train(epoch)
            sampler = whole.samplers[0]
            sampler.set_epoch(3, synchronise=False)
            state = pickle.loads(pickle.dumps(sampler.state_dict(consumed=5)))
            rest = list(sampler)[5:]
            again = Selecting(1, {"strategy": row.name, "threshold": 0}, workers=2)
            again.samplers[0].load_state_dict(state)
            self.assertEqual(list(again.samplers[0]), rest, row.name)
            np.testing.assert_array_equal(again.samplers[0].weights(range(N)),
                                          sampler.weights(range(N)))
            for ranks in (whole, again):
                ranks.trackers[0].observe(range(N), logits=easy_logits(range(N)),
                                          targets=np.ones(N, int))
            self.assertEqual(whole.train(4), again.train(4), row.name)


class RulesTest(unittest.TestCase):
    def test_random_leaves_out_its_share_and_weighs_the_rest(self):
        ranks = Selecting(1, {"strategy": "random", "share": 0.5}, workers=2)
        sampler = ranks.samplers[0]
        ids = ranks.train(0)[0]
        self.assertIn(len(ids), (N // 2, N // 2 + 1))
        self.assertAlmostEqual(float(sampler.weights(ids).sum()), N, places=4)

    def test_infobatch_visits_everything_first(self):
        ranks = Selecting(2, "infobatch")
        self.assertEqual(sum(map(len, ranks.train(0))), N)
        self.assertLess(sum(map(len, ranks.train(1))), N)

    def test_kakurenbo_hides_the_easiest_and_takes_a_refresh(self):
        ranks = Selecting(1, "kakurenbo", workers=2)
        ranks.train(0)
        ranks.train(1)
        sampler, tracker = ranks.samplers[0], ranks.trackers[0]
        self.assertGreater(sampler.hidden.size, 0)
        self.assertGreater(sampler.hidden.min(), N // 2)
        tracker.observe(sampler.hidden, logits=easy_logits(sampler.hidden),
                        targets=np.ones(sampler.hidden.size, int))
        self.assertEqual(sampler.state_dict()["consumed"], len(sampler))

    def test_sampling_observes_an_example_once(self):
        ranks = Selecting(1, {"strategy": "sampling", "threshold": 0}, workers=2)
        ranks.train(0)
        sampler, tracker = ranks.samplers[0], ranks.trackers[0]
        sampler.set_epoch(1, synchronise=False)
        ids = list(sampler)
        self.assertLess(len(set(ids)), len(ids))
        tracker.observe(ids, logits=easy_logits(ids), targets=np.ones(len(ids), int))
        tracker.start_epoch(2)
        self.assertEqual(tracker.statistics()["run_visits"].sum(), N + len(set(ids)))

    def test_a_function_chooses(self):
        def every_second(ids, scores, *, worker, epoch, seed):
            self.assertEqual(len(ids), len(scores))
            return ids[epoch % 2::2], np.full(ids[epoch % 2::2].size, 2.0, np.float32)

        ranks = Selecting(1, every_second, workers=1)
        sampler = ranks.samplers[0]
        self.assertEqual(sorted(ranks.train(0)[0]), list(range(0, N, 2)))
        self.assertEqual(sorted(ranks.train(1)[0]), list(range(1, N, 2)))
        self.assertEqual(sampler.weights([1, 3]).tolist(), [2, 2])

    def test_without_a_selection_weights_are_1(self):
        sampler = impart.ImportanceSampler(6, heuristic="random", workers=2)
        self.assertEqual(sampler.weights([0, 5]).tolist(), [1, 1])
        self.assertEqual(sampler.hidden.size, 0)


class MisuseTest(unittest.TestCase):
    def check(self, message, selection, **options):
        with self.assertRaisesRegex(impart.ConfigError, message):
            impart.ImportanceSampler(10, heuristic="random", workers=2, selection=selection,
                                     **options)

    def test_names_keys_and_numbers_are_checked(self):
        self.check("unknown selection 'infobach'; did you mean 'infobatch'", "infobach")
        self.check("unknown key 'shared'", {"strategy": "random", "shared": 0.5})
        self.check("share is 1; allowed: 0 to less than 1", {"strategy": "random", "share": 1})
        self.check("share is nan", {"strategy": "random", "share": float("nan")})
        self.check("scope is 'worker'; it must be one of part, all", {"scope": "worker"})
        self.check("prune needs after, a number of epochs", "prune")

    def test_the_tracker_must_keep_what_a_selection_looks_at(self):
        self.check("does not keep the notion 'loss-last'", "infobatch",
                   tracker=impart.Tracker(10, ["loss-average"]))

    def test_a_function_must_choose_what_the_worker_has(self):
        ranks = Selecting(1, lambda ids, scores, **_: [0, N - 1], workers=2)
        with self.assertRaisesRegex(impart.ConfigError, "which it does not have"):
            ranks.samplers[0].set_epoch(0)


class LearningTest(unittest.TestCase):
    def test_the_weighted_loss_of_the_documents_has_the_gradient_of_all(self):
        """Over an epoch's visits, averaged over seeds, for a linear model."""
        inputs = np.random.default_rng(1).normal(size=N)
        errors = inputs * 0.5 + loss_of(range(N), 0)
        mean = 0.0
        for seed in range(300):
            sampler = impart.ImportanceSampler(N, heuristic="random", workers=2, uneven="weight",
                                               seed=seed, selection={"strategy": "random",
                                                                     "share": 0.4})
            ids = list(sampler)
            mean += float((sampler.weights(ids) * (errors * inputs)[ids]).sum()) / 300
        self.assertAlmostEqual(mean, float((errors * inputs).sum()), delta=1.5)


if __name__ == "__main__":
    unittest.main()
