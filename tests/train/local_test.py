#!/usr/bin/env python3
"""Whole runs of workers that train apart: outer rules, processes, kills, records.

    python3 local_test.py path/to/impart

IMPART_KILLS (2) says how many times a run is stopped or killed, IMPART_TEST_SEED (1) draws the moments.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

import training
from training import IMPART, SHORT, on_small_images, settings, wait_until

KILLS = int(os.environ.get("IMPART_KILLS", "2"))
DRAW = random.Random(int(os.environ.get("IMPART_TEST_SEED", "1")))
# 32 steps an epoch, and parts of 124 or 125 examples.
BASE = on_small_images({**SHORT, "epochs": 3, "data.train_examples": 498, "workers.reduce": "exact",
                        "workers.sync": 7})
NESTEROV = {**BASE, "workers.outer": "nesterov"}
DELAYED = {**NESTEROV, "workers.outer_overlap": "true", "optimizer.name": "adamw",
           "optimizer.lr": 0.001, "model.name": "small-cnn", "data.limit": 122, "workers.batch": 2}


class LocalTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def finish(self, base, name, processes=None, **changes):
        self.succeed(*settings(base, **changes), f"output={name}", processes=processes)
        return self.run_folder(name)


class RuleTest(LocalTest):
    def test_nesterov_without_momentum_is_the_average(self):
        average = self.finish(BASE, "average")
        plain = self.finish(NESTEROV, "plain", workers__outer_lr=1, workers__outer_momentum=0)
        self.assertEqual(plain.sha(), average.sha())
        self.assertNotEqual(self.finish(NESTEROV, "nesterov").sha(), average.sha())

    def test_agreeing_after_every_step_is_averaging_gradients(self):
        """Each worker's momentum is a sum of its gradients, so their mean is that of the mean gradient."""
        even = {**BASE, "data.limit": 496, "epochs": 2, "optimizer.momentum": 0.9}
        losses = {sync: self.finish(even, f"sync-{sync}", workers__sync=sync).column("train_loss")
                  for sync in ["step", 1, 7]}
        for averaged, agreed, seldom in zip(losses["step"], losses[1], losses[7]):
            self.assertAlmostEqual(agreed, averaged, delta=1e-4)
            self.assertGreater(abs(seldom - averaged), 1e-3)

    def test_records_say_how_often_and_how_far(self):
        run = self.finish(NESTEROV, "run", workers__sync_start=1, eval__workers="true")
        lines = run.metrics()
        self.assertEqual([line.get("syncs") for line in lines], [None, 5, 5])
        self.assertNotIn("replica_divergence", lines[0])
        self.assertNotIn("worker_scores", lines[0])
        for line in lines[1:]:
            self.assertTrue(0 < line["replica_divergence"] < 1, line)
            self.assertEqual(len(line["worker_scores"]), 4)
            self.assertTrue(all(0 <= score <= 100 for score in line["worker_scores"]))
        ledger = [json.loads(line) for line in (run.path / "ledger.jsonl").read_text().splitlines()]
        sums = [line["weights"]["sums"] for line in ledger]
        self.assertEqual(sums, [32, 5, 5])
        summary = run.summary()
        self.assertEqual(summary["bytes_weights"], sum(sums) * 8 * summary["parameters"] * 3)

    def test_testing_workers_changes_nothing(self):
        tested = self.finish(NESTEROV, "tested", eval__workers="true")
        self.assertEqual(tested.sha(), self.finish(NESTEROV, "plain").sha())

    def test_io_predicts_the_bytes_of_weights(self):
        for sync in [7, "epoch", "step"]:
            run = self.finish(BASE, f"sync-{sync}", workers__sync=sync)
            shown = subprocess.run([IMPART, "io", run.path, "--json"], capture_output=True, text=True,
                                   check=True).stdout
            rows = {row["quantity"]: row for row in json.loads(shown)[0]["comparisons"]}
            self.assertEqual(rows["weight_bytes"]["deviation"], 0, rows)
            self.assertEqual(rows["weight_bytes"]["measured"], run.summary()["bytes_weights"])

    def test_a_worker_that_diverges_is_named(self):
        code, _, err = self.train(*settings(BASE, optimizer__lr=1e30), "output=run")
        self.assertEqual(code, 86, err)
        self.assertRegex(err, r"diverged: epoch 1: weights are no longer finite: worker \d \(step \d+\)")
        self.assertEqual(self.run_folder("run").markers(), ["FAILED"])


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class ProcessesTest(LocalTest):
    def test_one_hash_on_1_2_and_4_processes(self):
        for name, base in {"nesterov": NESTEROV, "delayed": DELAYED}.items():
            with self.subTest(name):
                runs = [self.finish(base, f"{name}-{n}", processes=n, eval__workers="true")
                        for n in (1, 2, 4)]
                self.assertEqual(len({run.sha() for run in runs}), 1)
                for column in ["replica_divergence", "worker_scores"]:
                    self.assertEqual(runs[0].column(column), runs[1].column(column))
                    self.assertEqual(runs[0].column(column), runs[2].column(column))

    def test_the_one_worker_that_diverges_is_named_by_any_number_of_processes(self):
        # One step with this rate leaves weights that are numbers; worker 3 makes fifty.
        (self.folder / "owners.txt").write_text("\n".join(["0", "1", "2"] + ["3"] * 200) + "\n")
        wild = {**BASE, "data.limit": 203, "workers.sync": "epoch", "workers.uneven": "weight",
                "partition.start": "file", "partition.start_file": "owners.txt", "partition.warmup": 0,
                "partition.interval": 0, "optimizer.lr": 1e6}
        said = set()
        for processes in (1, 2):
            with self.subTest(processes=processes):
                err = self.fail_with(86, "weights are no longer finite", *settings(wild),
                                     f"output=wild-{processes}", processes=processes)
                run = self.run_folder(f"wild-{processes}")
                self.assertEqual((run.markers(), run.checkpoints()), (["FAILED"], []))
                said.add(re.search(r"diverged: (epoch 1: weights are no longer finite: worker 3 \(step \d+\);)", err)[1])
        self.assertEqual(len(said), 1)

    def test_fast_sums_are_close(self):
        runs = [self.finish(DELAYED, f"fast-{n}", processes=n, workers__reduce="fast") for n in (1, 2)]
        for a, b in zip(*(run.column("train_loss") for run in runs)):
            self.assertAlmostEqual(a, b, delta=1e-3)


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class LostProcessTest(LocalTest):
    def test_a_process_that_is_lost_ends_the_job_with_75_and_resuming_is_as_if_it_had_not(self):
        base = {**DELAYED, "data.limit": 240, "epochs": 8, "workers.sync": 3}
        expected = self.finish(base, "unbroken")
        job = self.start(*settings(base, comm__timeout=2), "output=run", processes=2)
        run = self.run_folder("run")
        self.assertTrue(wait_until(lambda: run.lines() >= 1 and run.checkpoints(), 60))
        time.sleep(DRAW.uniform(0, 0.3))
        os.kill(job.ranks()[1], signal.SIGSTOP)
        self.assertEqual(job.wait(60), 75, job.texts()[1])
        self.succeed("--resume", "run")
        self.assertEqual(run.sha(), expected.sha())


class KillTest(LocalTest):
    """SIGTERM leaves a checkpoint in mid-epoch, SIGKILL that of the epoch before."""

    BASE = on_small_images({**SHORT, "epochs": 4, "data.train_examples": 498, "workers.sync": 7,
                            "workers.outer": "nesterov"})

    def interrupt(self, base, name, number, seconds):
        """In an epoch after the first; returns how the run ended."""
        run = self.run_folder(name)
        started = self.start(*settings(base), f"output={name}")
        epochs = DRAW.randint(1, base["epochs"] - 1)
        self.assertTrue(wait_until(
            lambda: run.lines() >= epochs and run.checkpoints() or started.is_over(), 60))
        time.sleep(DRAW.uniform(0, seconds))
        started.signal(number)
        code = started.wait()
        self.assertIn(code, [0, 85, -number], started.texts()[1])
        return code

    def check(self, base, kills=KILLS):
        began = time.monotonic()
        expected = self.finish(base, "unbroken").outcome_from_files()
        seconds = (time.monotonic() - began) / base["epochs"]
        states = []
        for i in range(kills):
            run = self.run_folder(f"broken-{i}")
            number = signal.SIGKILL if i % 2 == 1 else signal.SIGTERM
            if self.interrupt(base, run.path.name, number, seconds) == 0:
                continue
            states.append((run.newest_state()["epoch"], run.newest_state()["step"]))
            self.succeed("--resume", run.path.name)
            self.assert_same_outcome(run.outcome_from_files(), expected)
        print(f"went on from epoch, step: {states}", flush=True)
        self.assertTrue(states)

    def test_nesterov(self):
        self.check(self.BASE)

    def test_a_delayed_outer_step(self):
        self.check({**self.BASE, "workers.outer_overlap": "true", "optimizer.name": "adamw",
                    "optimizer.lr": 0.001})

    def test_models_that_come_apart_later(self):
        self.check({**self.BASE, "workers.sync_start": 2})


if __name__ == "__main__":
    unittest.main()
