#!/usr/bin/env python3
"""The same experiment on any number of processes, and jobs whose processes fail.

    python3 processes_test.py path/to/impart

IMPART_STOPS (2) says how often a process is stopped, IMPART_TEST_SEED (1) draws the moments.
"""

import os
import random
import shutil
import signal
import time
import unittest

import training
from training import SHORT, is_running, on_small_images, settings, wait_until

STOPS = int(os.environ.get("IMPART_STOPS", "2"))
DRAW = random.Random(int(os.environ.get("IMPART_TEST_SEED", "1")))
LIMIT = 5.0  # seconds from a failure to the end of the job
EXACT = {**on_small_images(SHORT), "epochs": 4, "data.limit": 160, "workers.reduce": "exact"}
# 40 steps an epoch, which last long enough to be stopped in.
STOPPED = {**EXACT, "epochs": 7, "data.limit": 320, "workers.batch": 2}
STRIPES = EXACT
BLOCKS = {**EXACT, "model.name": "small-cnn", "data.limit": 64, "partition.sticky": "true",
          "partition.heuristic": "blocks"}
EXCHANGE = {**EXACT, "partition.heuristic": "random", "partition.interval": 0,
            "partition.warmup": 0, "exchange.strategy": "is-pair"}
LONG = {**SHORT, "epochs": 1000, "data.train_examples": 4000, "checkpoint.every": 0}


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
class ProcessesTest(training.TrainingTest):
    def setUp(self):
        super().setUp()
        self.make_small_images()

    def finish(self, base, processes, name=None):
        name = name or f"processes-{processes}"
        self.succeed(*settings(base), f"output={name}", processes=processes)
        run = self.run_folder(name)
        self.assertEqual(run.markers(), ["DONE"])
        self.assertEqual(run.summary()["processes"], processes)
        return run

    def assert_same_experiment(self, found, expected):
        """All but rounding in sums that only metrics.jsonl shows."""
        self.assertEqual(found.partitions(), expected.partitions())
        for column in ["epoch", "step", "train_accuracy", "test_accuracy", "learning_rate"]:
            self.assertEqual(found.column(column), expected.column(column), column)
        for column in ["train_loss", "test_loss"]:
            for a, b in zip(found.column(column), expected.column(column)):
                self.assertAlmostEqual(a, b, delta=1e-9, msg=column)
        for file in ["importance.csv", "importance.npy"]:
            self.assertEqual((found.path / file).read_bytes(), (expected.path / file).read_bytes())
        self.assertEqual(found.sha(), expected.sha())

    def compare(self, base, counts=(1, 2, 4)):
        first = self.finish(base, counts[0])
        for processes in counts[1:]:
            with self.subTest(processes=processes):
                self.assert_same_experiment(self.finish(base, processes), first)
        return first


class ExactTest(ProcessesTest):
    def test_stripes(self):
        run = self.compare(STRIPES)
        self.assertEqual(len(run.partitions()), 3)
        self.assertEqual(run.summary()["bytes_network"], 0)
        self.assertGreater(self.run_folder("processes-2").summary()["bytes_network"], 100_000)
        # Without a launcher it is the same as with one process.
        self.succeed(*settings(STRIPES), "output=alone")
        self.assert_same_experiment(self.run_folder("alone"), run)

    def test_blocks_and_sticky(self):
        self.compare(BLOCKS)

    def test_exchange(self):
        run = self.compare(EXCHANGE)
        self.assertGreater(run.summary()["examples_moved"], 0)

    def test_parts_of_unequal_size(self):
        hashes = set()
        for uneven, processes in [("weight", 4), ("pad", 2), ("drop", 2)]:
            base = {**EXACT, "data.limit": 151, "epochs": 2, "partition.warmup": 1,
                    "importance.ignore": 0, "workers.uneven": uneven}
            with self.subTest(uneven=uneven):
                first = self.finish(base, 1, f"{uneven}-1")
                self.assert_same_experiment(self.finish(base, processes, uneven), first)
                hashes.add(first.sha())
        self.assertEqual(len(hashes), 3)

    def test_workers_that_do_not_divide_among_the_processes(self):
        self.compare({**EXACT, "workers.count": 5, "data.limit": 163, "epochs": 3}, (1, 2))

    def test_models_that_differ_between_workers(self):
        self.compare({**EXACT, "workers.sync": 3, "epochs": 3}, (1, 2))


class FastTest(ProcessesTest):
    def test_decisions_are_the_same_and_accuracy_is_close(self):
        base = {**EXACT, "workers.reduce": "fast", "partition.heuristic": "random",
                "partition.warmup": 0, "partition.interval": 1, "importance.ignore": 0,
                "data.limit": 320}
        runs = [self.finish(base, processes) for processes in (1, 4)]
        self.assertEqual(runs[0].partitions(), runs[1].partitions())
        self.assertEqual(runs[0].column("step"), runs[1].column("step"))
        for column, delta in [("train_loss", 1e-3), ("test_accuracy", 3), ("train_accuracy", 3)]:
            for a, b in zip(*(run.column(column) for run in runs)):
                self.assertAlmostEqual(a, b, delta=delta, msg=column)


class ResumeTest(ProcessesTest):
    """A run on 2 processes, interrupted, goes on with another number of them."""

    def go_on(self):
        for number in [4, None]:
            with self.subTest(processes=number):
                name = f"copy-{number}"
                shutil.copytree(self.folder / "run", self.folder / name)
                _, err = self.succeed("--resume", name, processes=number)
                self.assertIn(f"resuming from {name}/checkpoints/step-", err)
                self.assert_same_experiment(self.run_folder(name), self.run_folder("unbroken"))
                self.assertEqual(self.run_folder(name).summary()["processes"], number or 1)

    def interrupt(self, number, base):
        run = self.run_folder("run")
        job = self.start(*settings(base), "output=run", processes=2)
        self.assertTrue(wait_until(lambda: run.lines() >= 1 and run.checkpoints(), 60))
        ranks = job.ranks().values()
        self.assertTrue(wait_until(lambda: run.lines() >= 2, 60))
        for pid in ranks:
            os.kill(pid, number)
        job.wait()
        return job

    def test_killed(self):
        self.finish(STOPPED, 1, "unbroken")
        self.assertEqual(self.interrupt(signal.SIGKILL, STOPPED).wait(), 128 + signal.SIGKILL)
        self.assertEqual(self.run_folder("run").markers(), [])
        self.go_on()

    def test_stopped_inside_an_epoch(self):
        base = {**STOPPED, "workers.sync": 3}
        self.finish(base, 1, "unbroken")
        run = self.run_folder("run")
        for _ in range(5):  # it may come between two epochs
            shutil.rmtree(run.path, ignore_errors=True)
            job = self.interrupt(signal.SIGTERM, base)
            self.assertEqual(job.wait(), 85, job.texts()[1])
            self.assertEqual(run.markers(), ["PREEMPTED"])
            if run.newest_state()["step"] > 0:
                break
        self.assertGreater(run.newest_state()["step"], 0)
        self.go_on()


class SignalTest(ProcessesTest):
    """A signal to one process stops all of them; mpirun hands some on to all."""

    def stop(self, choose_target, number):
        """Starts a job and sends the signal to one of its processes, or to mpirun."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        job = self.start(*settings(STOPPED), "output=run", processes=2)
        run = self.run_folder("run")
        self.assertTrue(wait_until(lambda: run.lines() >= 1 and run.checkpoints(), 60))
        os.kill(choose_target(job), number)
        return job

    def check_preempted(self, job):
        self.assertEqual(job.wait(), 85, job.texts()[1])
        self.assertEqual(self.run_folder("run").markers(), ["PREEMPTED"])
        self.succeed("--resume", "run")
        self.assert_same_experiment(self.run_folder("run"), self.train_once(*settings(STOPPED)))

    def test_to_one_process(self):
        # resume_test.py has all of STOP_SIGNALS, which take the same way.
        for i, number in enumerate([signal.SIGTERM, signal.SIGXCPU]):
            with self.subTest(signal=number.name):
                self.check_preempted(self.stop(lambda job: job.ranks()[i % 2], number))

    def test_that_mpirun_hands_on(self):
        self.check_preempted(self.stop(lambda job: job.process.pid, signal.SIGUSR1))

    def test_that_ends_mpirun_leaves_a_file_to_tell_by(self):
        def hold(job):
            """So that they do not finish before mpirun hands it on, which it does with a SIGCONT before."""
            for pid in job.ranks().values():
                os.kill(pid, signal.SIGSTOP)
            return job.process.pid
        job = self.stop(hold, signal.SIGTERM)
        self.assertNotIn(job.wait(), [0, 85], job.texts()[1])
        run = self.run_folder("run")
        self.assertTrue(wait_until(lambda: run.markers() == ["PREEMPTED"], 5), run.markers())
        self.succeed("--resume", "run")
        self.assert_same_experiment(run, self.train_once(*settings(STOPPED)))


class LivenessTest(ProcessesTest):
    TIMEOUT = 5

    def test_a_stopped_process_is_named_with_its_phase_and_step(self):
        for _ in range(STOPS):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            job = self.start(*settings(LONG, comm__timeout=self.TIMEOUT), "output=run", processes=3)
            self.assertTrue(wait_until(self.run_folder("run").lines, 60), job.texts()[1])
            time.sleep(DRAW.uniform(0, 2))
            ranks = job.ranks()
            rank = DRAW.randrange(3)
            os.kill(ranks[rank], signal.SIGSTOP)
            since = time.monotonic()
            code = job.wait(60)
            wait_until(lambda: not any(map(is_running, ranks.values())), LIMIT)
            seconds = time.monotonic() - since
            print(f"stopped {rank}: ended after {seconds:.2f} s with {code}", flush=True)
            self.assertEqual([pid for pid in ranks.values() if is_running(pid)], [])
            self.assertLess(seconds, self.TIMEOUT + LIMIT)
            err = job.texts()[1]
            self.assertEqual(code, 75, err)
            self.assertRegex(err, rf"impart: process {rank} of 3 was lost: nothing was heard of it "
                             r"for \d+ s \(comm.timeout\), last in \w+, epoch \d+, step \d+; process "
                             r"\d waits in \w+, epoch \d+, step \d+, for \d+ s now")


class FailureTest(ProcessesTest):
    def start_long(self, processes=4):
        """A job that trains, and its processes by rank."""
        job = self.start(*settings(LONG), "output=run", processes=processes)
        run = self.run_folder("run")
        started = lambda: (run.path / "metrics.jsonl").exists() and len(job.ranks()) == processes
        self.assertTrue(wait_until(started, 60), job.texts()[1])
        time.sleep(0.3)
        ranks = job.ranks()
        self.assertEqual(len(ranks), processes, job.texts()[1])
        return job, ranks

    def check_end(self, job, ranks, since):
        code = job.wait(30)
        wait_until(lambda: not any(map(is_running, ranks.values())), LIMIT)
        seconds = time.monotonic() - since
        print(f"{self._testMethodName}: ended after {seconds:.2f} s with {code}", flush=True)
        self.assertEqual([pid for pid in ranks.values() if is_running(pid)], [])
        self.assertLess(seconds, LIMIT)
        return code

    def test_a_killed_process_ends_the_job(self):
        for rank in [0, 2]:
            job, ranks = self.start_long()
            os.kill(ranks[rank], signal.SIGKILL)
            code = self.check_end(job, ranks, time.monotonic())
            err = job.texts()[1]
            self.assertEqual(code, 128 + signal.SIGKILL, err)
            self.assertIn(f"process {rank} of 4 was lost", err)
            self.assertNotIn("DONE", self.run_folder("run").markers())
            shutil.rmtree(self.folder / "run")

    def test_sigterm_to_one_process_stops_all(self):
        job, ranks = self.start_long(2)
        os.kill(ranks[1], signal.SIGTERM)
        self.assertEqual(self.check_end(job, ranks, time.monotonic()), 85, job.texts()[1])
        self.assertEqual(self.run_folder("run").markers(), ["PREEMPTED"])

    def test_sigterm_to_mpirun_leaves_nobody_behind(self):
        job, ranks = self.start_long(2)
        job.signal(signal.SIGTERM)
        self.assertNotEqual(self.check_end(job, ranks, time.monotonic()), 0)

    def test_more_processes_than_workers(self):
        err = self.fail_with(2, "workers", *settings(EXACT, workers__count=2), "output=run",
                             processes=3)
        self.assertRegex(err, "3 processes.*2 workers|2 workers.*3 processes")
        self.assertEqual(err.count("impart: "), 1, "one process speaks for all")

    def test_a_wrong_setting_is_said_once(self):
        err = self.fail_with(2, "'epochs=0': '0' is out of range", "epochs=0", processes=3)
        self.assertEqual(err.count("impart: "), 1, err)

    def test_an_output_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        err = self.fail_with(74, "impart: file/run: cannot create: ", *settings(EXACT),
                             "output=file/run", processes=2)
        self.assertNotIn("process 0", err)

    def test_a_run_that_is_already_there(self):
        self.finish(EXACT, 1, "run")
        sha = self.run_folder("run").sha()
        err = self.fail_with(2, "impart: run: already holds a run", *settings(EXACT), "output=run",
                             processes=2)
        self.assertNotIn("process 0", err)
        self.assertEqual(self.run_folder("run").sha(), sha)

    def test_a_truncated_data_file_has_the_exit_code_of_bad_data(self):
        os.mkdir(self.folder / "cifar")
        for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
            (self.folder / "cifar" / name).write_bytes(bytes(3073 * 4))
        os.truncate(self.folder / "cifar/data_batch_3.bin", 3073 * 3 + 100)
        err = self.fail_with(65, "cifar/data_batch_3.bin: byte 9219: record 3 has only 100",
                             *settings(EXACT, data__name="cifar10", data__root="cifar", data__limit=0),
                             "output=run", processes=2)
        self.assertIn("impart: ", err)
        self.assertFalse((self.folder / "run").exists(), "bad input must not leave a run")


if __name__ == "__main__":
    unittest.main()
