#!/usr/bin/env python3
"""Runs that visit less than everything: what they count, and that they can be interrupted.

    python3 selection_test.py path/to/impart
"""

import json
import signal
import subprocess
import unittest

import training
from training import RunFolder, settings, wait_until

EXAMPLES, EPOCHS = 320, 5
BASE = {
    "threads": 1,
    "epochs": EPOCHS,
    "data.train_examples": EXAMPLES,
    "data.test_examples": 50,
    "model.name": "mlp",
    "workers.count": 4,
    "workers.batch": 8,
    "workers.reduce": "exact",
    "optimizer.lr": 0.05,
    "importance.notion": "loss-average",
    "importance.images": 0,
    "partition.warmup": 2,
    "partition.interval": 1,
    "selection.confidence": 0.3,
    "selection.threshold": 0,
    "selection.after": 2,
}


def strategies():
    """The names of the table."""
    listed = subprocess.run([training.IMPART, "list", "selections"], check=True,
                            capture_output=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines()[1:]]


def ledger(run):
    return [json.loads(line) for line in (run.path / "ledger.jsonl").read_text().splitlines()]


def ledger_visits(run):
    return [line["visits"] for line in ledger(run)]


class SelectionTest(training.TrainingTest):
    def run_with(self, name, processes=None, **changes):
        self.succeed(*settings(BASE, **changes), f"output={name}", processes=processes)
        return self.run_folder(name)


class CountsTest(SelectionTest):
    def test_everything_is_visited_by_default(self):
        summary = self.run_with("all").summary()
        self.assertEqual(summary["visits"], EPOCHS * EXAMPLES)
        self.assertEqual(summary["visits_hidden"], 0)
        self.assertEqual(summary["visits_max_over_mean"], 1)

    def test_random_hides_exactly_its_share(self):
        run = self.run_with("random", selection__strategy="random", selection__share=0.25)
        summary = run.summary()
        self.assertEqual(summary["visits"], EPOCHS * EXAMPLES * 3 // 4)
        self.assertEqual(summary["visits_hidden"], EPOCHS * EXAMPLES // 4)
        self.assertEqual([line["hidden"] for line in ledger_visits(run)], [EXAMPLES // 4] * EPOCHS)
        self.assertEqual(run.metrics()[0]["step"], 8)  # 60 of 80 examples in steps of 8

    def test_infobatch_visits_all_first_and_in_its_final_epochs(self):
        run = self.run_with("infobatch", selection__strategy="infobatch", selection__final=1)
        hidden = [line["hidden"] for line in ledger_visits(run)]
        self.assertEqual((hidden[0], hidden[-1]), (0, 0))
        self.assertTrue(all(count > EXAMPLES // 10 for count in hidden[1:-1]), hidden)

    def test_kakurenbo_refreshes_what_it_hides_and_scales_by_what_was_really_hidden(self):
        run = self.run_with("kakurenbo", selection__strategy="kakurenbo", selection__share=0.4,
                            selection__lr="scale", optimizer__lr=0.2)
        summary = run.summary()
        self.assertGreater(summary["visits_hidden"], 0)
        self.assertEqual(summary["visits_refreshed"], summary["visits_hidden"])
        self.assertGreater(summary["seconds_refresh"], 0)
        rates = run.column("learning_rate")
        for rate, visits in zip(rates, ledger_visits(run)):
            self.assertAlmostEqual(rate, 0.2 * EXAMPLES / (EXAMPLES - visits["hidden"]))
        self.assertGreater(max(rates), 0.2)

    def test_a_schedule_may_count_visits_instead_of_epochs(self):
        common = {"selection__strategy": "random", "selection__share": 0.5,
                  "optimizer__schedule": "linear"}
        by_epoch = self.run_with("by-epoch", **common).column("learning_rate")
        by_visits = self.run_with("by-visits", optimizer__schedule_by="visits",
                                  **common).column("learning_rate")
        self.assertLess(by_epoch[-1], 0.05 * 0.1)
        self.assertAlmostEqual(by_visits[-1], 0.05 * 0.5, delta=0.05 * 0.05)

    def test_language_models_take_weights_too(self):
        run = self.run_with("text", data__name="generated", model__name="lstm", data__block=16,
                            data__train_examples=120, epochs=3, selection__strategy="infobatch",
                            selection__final=0)
        self.assertGreater(run.summary()["visits_hidden"], 0)
        self.assertGreater(run.summary()["final_perplexity"], 1)


class BadInputTest(SelectionTest):
    def test_shares_that_cannot_be_are_refused(self):
        for share in ["1", "1.5", "-0.1"]:
            self.fail_with(2, f"selection.share={share}': '{share}' is out of range; allowed: 0 to "
                           "less than 1",
                           *settings(BASE, selection__strategy="random", selection__share=share))
        self.fail_with(2, "'nan' is not a number",
                       *settings(BASE, selection__strategy="random", selection__share="nan"))

    def test_padding_would_undo_a_selection(self):
        self.fail_with(2, "selection.strategy: random needs workers.uneven: weight",
                       *settings(BASE, selection__strategy="random", workers__uneven="pad"))

    def test_share_0_visits_everything(self):
        self.assertEqual(
            self.run_with("none", selection__strategy="random", selection__share=0).sha(),
            self.run_with("all").sha())

    def test_more_may_be_hidden_than_a_batch_has(self):
        run = self.run_with("few", selection__strategy="random", selection__share=0.99)
        self.assertEqual(run.summary()["visits"], EPOCHS * 4)


class StoreTest(SelectionTest):
    def test_what_is_hidden_is_not_read(self):
        store = {"store__kind": "partitioned", "partition__warmup": 0, "partition__interval": 0,
                 "partition__heuristic": "random"}
        every = self.run_with("all", store__path="parts-all", **store)
        some = self.run_with("some", store__path="parts-some", selection__strategy="random",
                             selection__share=0.5, **store)
        replicated = self.run_with("replicated", selection__strategy="random", selection__share=0.5,
                                   **{k: v for k, v in store.items() if k != "store__kind"})
        reads = [sum(worker["bytes_local"] for line in ledger(run) for worker in line["workers"])
                 for run in [every, some]]
        self.assertLess(reads[1], 0.6 * reads[0])
        payload = every.summary()["payload_bytes_total"]
        self.assertEqual(some.summary()["bytes_saved"], EPOCHS * payload // 2)
        self.assertEqual(some.sha(), replicated.sha())


class InterruptedRun(SelectionTest):
    """Stopped inside an epoch, and gone on with in two processes: the same bits."""

    def check(self, strategy):
        expected = self.run_with(f"{strategy}-whole", selection__strategy=strategy)
        name = f"{strategy}-stopped"
        run = RunFolder(self.folder / name)
        started = self.start(*settings(BASE, selection__strategy=strategy), f"output={name}")
        self.assertTrue(wait_until(lambda: run.lines() >= 3 or started.is_over(), 60))
        started.signal(signal.SIGTERM)
        self.assertIn(started.wait(), [0, 85], started.texts()[1])
        if not (run.path / "DONE").exists():
            self.succeed("--resume", name, processes=2)
        self.assertEqual(run.sha(), expected.sha(), strategy)
        self.assertEqual(run.metrics(), expected.metrics(), strategy)
        for number in ["visits", "visits_hidden", "visits_refreshed", "visits_max_over_mean"]:
            self.assertEqual(run.summary()[number], expected.summary()[number], strategy)


    def check_every_fourth(self, first):
        for strategy in strategies()[first::4]:
            with self.subTest(strategy):
                self.check(strategy)


# In four parts, which may be run beside each other.
class InterruptedTest(InterruptedRun):
    def test_the_first_strategies_end_with_the_same_bits(self):
        self.check_every_fourth(0)


class SecondInterruptedTest(InterruptedRun):
    def test_the_second_strategies_end_with_the_same_bits(self):
        self.check_every_fourth(1)


class ThirdInterruptedTest(InterruptedRun):
    def test_the_third_strategies_end_with_the_same_bits(self):
        self.check_every_fourth(2)


class FourthInterruptedTest(InterruptedRun):
    def test_the_fourth_strategies_end_with_the_same_bits(self):
        self.check_every_fourth(3)


if __name__ == "__main__":
    unittest.main()
