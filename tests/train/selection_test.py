#!/usr/bin/env python3
"""Runs that visit less than everything: what they count, and that they can be interrupted.

    python3 selection_test.py path/to/impart

IMPART_KILLS (1) says how many times runs of every strategy are killed, IMPART_TEST_SEED (1) draws
the moments.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import training
from training import on_small_images, settings, wait_until

KILLS = int(os.environ.get("IMPART_KILLS", "1"))
SEED = int(os.environ.get("IMPART_TEST_SEED", "1"))
EXAMPLES, EPOCHS = 320, 5
BASE = on_small_images({
    "threads": 1,
    "epochs": EPOCHS,
    "data.train_examples": EXAMPLES,
    "model.name": "mlp",
    "workers.count": 4,
    "workers.batch": 8,
    "workers.reduce": "exact",
    "optimizer.lr": 0.05,
    "importance.notion": "loss-average",
    "importance.images": 0,
    "partition.warmup": 2,
    "partition.interval": 1,
    "selection.confidence": 0.12,  # of noise nobody is sure
    "selection.threshold": 0,
    "selection.after": 2,
})
# 40 steps an epoch, which last long enough to be stopped in.
STOPPED = {**BASE, "workers.batch": 2, "partition.save": "true"}
EPOCH_SECONDS = 0.1  # about, of STOPPED


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
    def setUp(self):
        super().setUp()
        self.make_small_images()

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
        run = self.run_with("text", data__name="generated", model__name="lstm", data__block=8,
                            data__train_examples=64, epochs=3, selection__strategy="infobatch",
                            selection__final=0)
        self.assertGreater(run.summary()["visits_hidden"], 0)
        self.assertGreater(run.summary()["final_perplexity"], 1)


class BadInputTest(SelectionTest):
    def test_shares_that_cannot_be_are_refused(self):
        for share in ["1", "1.5", "-0.1", "inf"]:
            self.fail_with(2, f"selection.share={share}': '{share}' is out of range; allowed: 0 to "
                           "less than 1",
                           *settings(BASE, selection__strategy="random", selection__share=share))
        self.fail_with(2, "'nan' is not a number",
                       *settings(BASE, selection__strategy="random", selection__share="nan"))

    def test_padding_or_dropping_would_undo_a_selection(self):
        for uneven in ["pad", "drop"]:
            self.fail_with(2, "selection.strategy: random needs workers.uneven: weight",
                           *settings(BASE, selection__strategy="random", workers__uneven=uneven))

    def test_share_0_visits_everything(self):
        every = self.run_with("all").sha()
        for strategy in ["random", "infobatch", "kakurenbo", "prune"]:
            run = self.run_with(strategy, selection__strategy=strategy, selection__share=0)
            self.assertEqual(run.sha(), every, strategy)

    def test_an_epoch_without_visits_is_refused(self):
        self.fail_with(2, "selection.strategy: sampling leaves nothing to visit in epoch 3; take a "
                       "smaller selection.share, or a larger selection.budget",
                       *settings(BASE, selection__strategy="sampling", selection__budget=0.0001))

    def test_whole_steps_leave_a_batch_of_everybody_however_much_is_hidden(self):
        run = self.run_with("few", selection__strategy="random", selection__share=0.99,
                            selection__whole_steps="true")
        self.assertEqual(run.summary()["visits"], EPOCHS * 4 * 8)
        self.assertEqual(run.summary()["visits_max_over_mean"], 1)

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
    """Stopped in an epoch, killed at any moment, gone on with in 1 or 2 processes: the same bits."""

    def begin_or_go_on(self, base, name, processes):
        """A run that was killed before it wrote its config cannot be resumed, but started again."""
        if (self.folder / name / "config.yaml").exists():
            return self.start("--resume", name, processes=processes)
        return self.start(*settings(base), f"output={name}", processes=processes)

    def interrupt(self, draw, base, name, number):
        """Sends a signal in an epoch, or before the first; says when, or None if the run had ended."""
        run = self.run_folder(name)
        # A stop waits for its step; kills may come while a process starts, too.
        epoch = draw.randint(min(run.lines() + 1, EPOCHS - 1), EPOCHS - 1)
        if number == signal.SIGKILL and draw.random() < 0.2:
            epoch = 0
        processes = draw.choice([None, 2])
        job = self.begin_or_go_on(base, name, processes)
        self.assertTrue(wait_until(lambda: run.lines() >= epoch or job.is_over(), 60))
        time.sleep(draw.uniform(0, EPOCH_SECONDS))
        done = run.lines()
        ranks = job.ranks() if processes else {}
        for pid in ranks.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if not ranks:
            job.signal(number)
        code = job.wait()
        if code == 0:
            return None
        if number == signal.SIGTERM:
            self.assertEqual(code, 85, job.texts()[1])
        return f"{number.name} after {done} epochs on {processes or 1}"

    def finish(self, base, name, processes):
        job = self.begin_or_go_on(base, name, processes)
        self.assertEqual(job.wait(), 0, job.texts()[1])
        return self.run_folder(name)

    def check(self, strategy):
        """Until it was killed so often; every other run was stopped inside an epoch before."""
        base = {**STOPPED, "selection.strategy": strategy}
        expected = self.finish(base, f"{strategy}-whole", None).outcome_from_files()
        draw = random.Random(f"{SEED} {strategy}")
        kills, runs, moments = 0, 0, []
        while kills < KILLS and runs < 5 * KILLS + 5:
            name = f"{strategy}-{runs}"
            numbers = [signal.SIGTERM] if runs % 2 == 0 else []
            numbers += [signal.SIGKILL] * min(draw.randint(1, 3), KILLS - kills)
            for number in numbers:
                moment = self.interrupt(draw, base, name, number)
                if moment is None:
                    break
                moments.append(moment)
                kills += number == signal.SIGKILL
            run = self.finish(base, name, draw.choice([None, 2]))
            self.assert_same_outcome(run.outcome_from_files(), expected)
            shutil.rmtree(run.path)
            runs += 1
        self.assertEqual(kills, KILLS)
        print(f"{strategy}: {runs} runs, killed {kills} times: {', '.join(moments)}", flush=True)

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
