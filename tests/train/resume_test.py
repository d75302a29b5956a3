#!/usr/bin/env python3
"""A run that is killed, stopped or damaged must end as the one that was left alone.

    python3 resume_test.py path/to/impart

IMPART_KILLS (4) says how many times a run is killed, IMPART_TEST_SEED (1) draws the moments.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import training
from training import SHORT, STOP_SIGNALS, RunFolder, on_small_images, settings, wait_until

KILLS = int(os.environ.get("IMPART_KILLS", "4"))
SEED = int(os.environ.get("IMPART_TEST_SEED", "1"))
# 80 steps an epoch, which last long enough to be stopped in.
RUN = {**on_small_images(SHORT), "workers.batch": 2}
EXCHANGE = {
    **RUN,
    "data.limit": 320,  # each worker has a model to step
    "exchange.strategy": "ilag-pair",
    "workers.sync": 2,
    "partition.heuristic": "random",
    "partition.interval": 0,
    "partition.warmup": 0,
}
BATCH_NORM = {
    **RUN,
    "model.name": "small-cnn",
    "data.limit": 320,
    "optimizer.schedule": "cosine",
    "partition.sticky": "true",
}
ADAMW = {**RUN, "optimizer.name": "adamw", "optimizer.lr": 0.001}


class ResumeTest(training.TrainingTest):
    """Runs that several tests need are made once: whole ones, and one stopped inside epoch 4."""

    shared = pathlib.Path()
    unbroken = {}

    def setUp(self):
        super().setUp()
        self.make_small_images()

    def reference(self, base):
        """What the unbroken run comes to, and how long it takes from start to end."""
        key = tuple(settings(base))
        if key not in self.unbroken:
            output = self.shared / f"unbroken-{len(self.unbroken)}"
            started = time.monotonic()
            self.succeed(*key, f"output={output}")
            seconds = time.monotonic() - started
            self.unbroken[key] = (RunFolder(output), RunFolder(output).outcome_from_files(), seconds)
            self.assertEqual(self.unbroken[key][1]["markers"], ["DONE"])
        return self.unbroken[key]

    def copy_of_done(self, name):
        shutil.copytree(self.reference(RUN)[0].path, self.folder / name)
        return self.run_folder(name)

    def copy_of_stopped(self, name):
        stopped = self.shared / "stopped"
        if not stopped.exists():
            self.assertEqual(self.stop_in_epoch(RUN, stopped, 4).wait(), 85)
        shutil.copytree(stopped, self.folder / name)
        return self.run_folder(name)

    def begin_or_resume(self, base, name):
        """A run that was killed before it wrote its config cannot be resumed, but started again."""
        if (self.folder / name / "config.yaml").exists():
            return self.start("--resume", name)
        return self.start(*settings(base), f"output={name}")

    def stop_in_epoch(self, base, name, epochs, number=signal.SIGTERM):
        """Starts a run and sends it the signal after some epochs; again, if it came between two or too late."""
        run = self.run_folder(name)
        for _ in range(5):
            shutil.rmtree(run.path, ignore_errors=True)
            started = self.start(*settings(base), f"output={name}")
            self.assertTrue(wait_until(lambda: run.lines() >= epochs or started.is_over(), 60))
            started.signal(number)
            code = started.wait()
            if code != 0 and not (code == 85 and run.newest_state()["step"] == 0):
                break
        return started

    def check_end(self, base, name):
        self.assert_same_outcome(self.run_folder(name).outcome_from_files(), self.reference(base)[1])


class KilledRunTest(ResumeTest):
    def moment(self, draw, run, epochs):
        """What to wait for before the kill: its name, and whether it has come."""
        epoch = draw.randint(min(run.lines() + 1, epochs), epochs)
        writing = lambda: next((run.path / "checkpoints").glob(".unfinished-*"), None)
        newest = lambda: run.path / f"checkpoints/step-{run.last_step():010}"
        kinds = {
            "time": lambda: False,
            "writing the checkpoint": lambda: run.lines() >= epoch and writing() is not None,
            # What follows is the next epoch's partition.
            "after the checkpoint": lambda: run.lines() >= epoch and newest().exists(),
            "writing the results": (run.path / "importance.csv").exists,
        }
        kind = draw.choices(list(kinds), [4, 3, 3, 1])[0]
        return kind, kinds[kind]

    def kill_once(self, draw, base, name, seconds):
        """Starts or resumes, kills at a moment; what it was, or None if the run ended before."""
        run = self.run_folder(name)
        kind, has_come = self.moment(draw, run, base["epochs"])
        limit = draw.uniform(0, 1.1 * seconds) if kind == "time" else 60
        started = self.begin_or_resume(base, name)
        wait_until(lambda: has_come() or started.is_over(), limit)
        if kind != "time":
            time.sleep(draw.choice([0, draw.uniform(0, 0.003)]))
        done = run.lines()
        started.signal(signal.SIGKILL)
        code = started.wait()
        self.assertIn(code, [0, -signal.SIGKILL], started.texts()[1])
        if code == 0:
            return None
        return f"{kind} {limit:.2f} s ({done})" if kind == "time" else f"{kind} ({done})"

    def kill_and_compare(self, base, kills, seed):
        draw = random.Random(seed)
        _, expected, seconds = self.reference(base)
        moments = []
        runs = 0
        while len(moments) < kills and runs < 20 * kills:
            runs += 1
            name = f"killed-{runs}"
            for _ in range(min(draw.randint(1, 4), kills - len(moments))):
                moment = self.kill_once(draw, base, name, seconds)
                if moment is None:
                    break
                moments.append(moment)
            started = self.begin_or_resume(base, name)
            self.assertEqual(started.wait(), 0, started.texts()[1])
            self.assert_same_outcome(self.run_folder(name).outcome_from_files(), expected)
            shutil.rmtree(self.folder / name)
        self.assertEqual(len(moments), kills)
        print(f"seed {seed}: {runs} runs, killed {kills} times, after so many epochs: "
              f"{', '.join(moments)}", flush=True)


class KillTest(KilledRunTest):
    def test_killed_at_any_moment(self):
        self.kill_and_compare(RUN, KILLS, SEED)


class KillOthersTest(KilledRunTest):
    def test_killed_with_an_exchange_and_models_that_differ(self):
        self.kill_and_compare(EXCHANGE, max(2, KILLS // 4), SEED + 1)

    def test_killed_with_batch_norm_and_a_learning_rate_schedule(self):
        self.kill_and_compare(BATCH_NORM, max(2, KILLS // 4), SEED + 2)


class StoppedRunTest(ResumeTest):
    def check_signal(self, base, number, epochs):
        name = f"stopped-{number}-{epochs}"
        run = self.run_folder(name)
        started = self.stop_in_epoch(base, name, epochs, number)
        self.assertEqual(started.wait(), 85, started.texts()[1])
        self.assertIn(f"impart train --resume {name}", started.texts()[0])
        self.assertEqual(run.markers(), ["PREEMPTED"])
        self.assertFalse((run.path / "summary.json").exists())
        self.assertGreater(run.newest_state()["step"], 0, "did not stop inside an epoch")
        _, err = self.succeed("--resume", name)
        self.assertIn(f"resuming from {name}/checkpoints/step-", err)
        self.check_end(base, name)


class EverySignalTest(StoppedRunTest):
    def test_each_signal_stops_inside_an_epoch(self):
        for i, number in enumerate(STOP_SIGNALS):
            with self.subTest(signal=number.name):
                self.check_signal(RUN, number, 1 + i % 3)

    def test_a_second_interrupt_ends_at_once(self):
        slow = {**SHORT, "data.train_examples": 20000, "workers.batch": 5000, "threads": 1,
                "model.name": "small-cnn"}
        run = self.run_folder("run")
        started = self.start(*settings(slow), "output=run")
        self.assertTrue(wait_until(lambda: (run.path / "config.yaml").exists(), 60))
        time.sleep(0.5)
        started.signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertFalse(started.is_over(), "nothing was left to interrupt")
        started.signal(signal.SIGINT)
        self.assertEqual(started.wait(2), -signal.SIGINT)

    def test_nohup_is_left_alone(self):
        run = self.run_folder("run")
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, signal.SIG_DFL)
        started = self.start(*settings(RUN), "output=run")
        self.assertTrue(wait_until(lambda: run.lines() >= 1, 60))
        started.signal(signal.SIGHUP)
        self.assertEqual(started.wait(), 0, started.texts()[1])


class SignalTest(StoppedRunTest):
    def test_with_an_exchange_and_models_that_differ(self):
        self.check_signal(EXCHANGE, signal.SIGTERM, 2)

    def test_with_batch_norm(self):
        self.check_signal(BATCH_NORM, signal.SIGTERM, 2)

    def test_with_adamw(self):
        self.check_signal(ADAMW, signal.SIGTERM, 1)


class SignalAtOddMomentsTest(StoppedRunTest):
    def test_stopped_again_and_again(self):
        run = self.run_folder("stops")
        self.assertEqual(self.stop_in_epoch(RUN, "stops", 1).wait(), 85)
        for _ in range(3):
            done = run.lines()
            started = self.start("--resume", "stops")
            wait_until(lambda: run.lines() > done or started.is_over(), 60)
            started.signal(signal.SIGTERM)
            self.assertIn(started.wait(), [0, 85], started.texts()[1])
        self.succeed("--resume", "stops")
        self.check_end(RUN, "stops")

    def test_while_it_starts(self):
        """Until the command listens, a signal ends it as any other, but spoils nothing."""
        draw = random.Random(SEED)
        for _ in range(4):
            started = self.begin_or_resume(RUN, "early")
            time.sleep(draw.uniform(0, 0.6))
            started.signal(signal.SIGTERM)
            self.assertIn(started.wait(), [0, 85, -signal.SIGTERM], started.texts()[1])
        self.assertEqual(self.begin_or_resume(RUN, "early").wait(), 0)
        self.check_end(RUN, "early")

    def test_with_one_step_per_epoch(self):
        whole = {**RUN, "workers.batch": 800, "epochs": 60}
        name = "one-step"
        started = self.stop_in_epoch(whole, name, 3)
        self.assertEqual(started.wait(), 85, "ran to its end in spite of SIGTERM")
        self.assertEqual(self.run_folder(name).markers(), ["PREEMPTED"])

    def test_after_divergence(self):
        """NaN in the partition's figures must not spoil the checkpoint."""
        diverged = {**RUN, "optimizer.lr": 1e20, "train.stop_on_nan": "false"}
        name = "diverged"
        started = self.stop_in_epoch(diverged, name, 2)
        self.assertEqual(started.wait(), 85, started.texts()[1])
        self.succeed("--resume", name)
        self.check_end(diverged, name)


class DamageTest(ResumeTest):
    """The newest checkpoint is damaged; the one before is of the end of an epoch."""

    def check_skipped(self, run, damaged):
        """The damage is said with the name of the file, and the run ends as ever."""
        print(f"damaged {damaged or 'manifest.json'}", flush=True)
        checkpoints = run.checkpoints()
        _, err = self.succeed("--resume", run.path.name)
        self.assertIn("skipping a damaged checkpoint: ", err)
        self.assertIn(damaged, err)
        self.assertNotIn(f"resuming from {run.path.name}/checkpoints/{checkpoints[-1].name}", err)
        self.check_end(RUN, run.path.name)
        return err

    def test_one_flipped_bit_in_any_file(self):
        draw = random.Random(SEED)
        older, newest = self.copy_of_stopped("whole").checkpoints()
        names = sorted(os.listdir(newest))
        self.assertIn("manifest.json", names)
        for file in names:
            with self.subTest(file=file):
                run = self.copy_of_stopped(f"flip-{file}")
                path = run.checkpoints()[-1] / file
                content = bytearray(path.read_bytes())
                content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
                path.write_bytes(content)
                # A wrong manifest may blame any file.
                err = self.check_skipped(run, file if file != "manifest.json" else "")
                self.assertIn(f"resuming from flip-{file}/checkpoints/{older.name}", err)

    def test_files_that_are_cut_empty_or_missing(self):
        cases = {
            "cut": ("training.safetensors", lambda path: os.truncate(path, 1000)),
            "empty": ("state.json", lambda path: os.truncate(path, 0)),
            "missing": ("partition.npy", os.remove),
            "bare": ("manifest.json", os.remove),
        }
        for name, (file, damage) in cases.items():
            with self.subTest(damage=name):
                run = self.copy_of_stopped(name)
                damage(run.checkpoints()[-1] / file)
                self.check_skipped(run, file)

    def test_no_whole_checkpoint_at_all(self):
        run = self.copy_of_stopped("none")
        for checkpoint in run.checkpoints():
            os.truncate(checkpoint / "model.safetensors", 10)
        err = self.check_skipped(run, "model.safetensors")
        self.assertEqual(err.count("skipping a damaged checkpoint"), 2)
        self.assertIn("no checkpoint to resume from; starting at the beginning", err)


class UsageTest(ResumeTest):
    def test_another_config_is_refused(self):
        self.copy_of_stopped("run")
        err = self.fail_with(2, "another configuration", "--resume", "run", "optimizer.lr=0.5")
        self.assertEqual(err.count("\n"), 1, err)

    def test_a_refused_resume_leaves_the_run_as_it_was(self):
        self.copy_of_stopped("run")
        config = (self.folder / "run/config.yaml").read_text()
        self.fail_with(2, "", "--resume", "run", "optimizer.lr=0.5")
        self.assertEqual(self.run_folder("run").markers(), ["PREEMPTED"])
        self.assertEqual((self.folder / "run/config.yaml").read_text(), config)
        self.succeed("--resume", "run")
        self.check_end(RUN, "run")

    def test_another_config_is_refused_before_the_first_checkpoint_too(self):
        self.copy_of_stopped("run")
        shutil.rmtree(self.folder / "run/checkpoints")
        self.fail_with(2, "another configuration", "--resume", "run", "optimizer.lr=0.5")

    def test_settings_that_do_not_change_the_result_may_change(self):
        self.copy_of_stopped("run")
        self.succeed("--resume", "run", "checkpoint.keep=1", "name=other")
        self.assertEqual(len(self.run_folder("run").checkpoints()), 1)
        self.check_end(RUN, "run")

    def test_another_number_of_threads_is_told(self):
        self.copy_of_stopped("run")
        _, err = self.succeed("--resume", "run", "threads=2")
        self.assertIn("the run was computed with threads=1 and goes on with 2: its last bits", err)

    def test_the_same_number_of_threads_is_not_told(self):
        self.copy_of_stopped("run")
        _, err = self.succeed("--resume", "run")
        self.assertNotIn("threads", err)

    def test_with_reduce_exact_the_number_of_threads_changes_nothing(self):
        exact = {**RUN, "workers.reduce": "exact", "data.limit": 320}
        self.assertEqual(self.stop_in_epoch(exact, "run", 2).wait(), 85)
        _, err = self.succeed("--resume", "run", "threads=2")
        self.assertNotIn("threads", err)
        self.check_end(exact, "run")

    def test_a_moved_run_goes_on_where_it_is(self):
        self.copy_of_stopped("run")
        os.rename(self.folder / "run", self.folder / "moved")
        self.succeed("--resume", "moved")
        self.check_end(RUN, "moved")
        self.assertFalse((self.folder / "run").exists())

    def test_a_finished_run_stays_finished(self):
        self.copy_of_done("run")
        self.succeed("--resume", "run")
        self.check_end(RUN, "run")

    def test_what_stays_of_a_finished_run_with_statistics_of_workers_is_enough_to_end_again(self):
        for sync in ["step", "epoch"]:
            with self.subTest(sync=sync):
                base = {**BATCH_NORM, "epochs": 2, "workers.sync": sync}
                self.succeed(*settings(base), "checkpoint.last=model", f"output={sync}")
                run = self.run_folder(sync)
                self.check_end(base, sync)
                images = run.bytes_of("images.jsonl")
                # As if it had been killed behind its last checkpoint.
                for name in ["DONE", "summary.json", "images.jsonl", "importance.csv"]:
                    (run.path / name).unlink()
                self.succeed("--resume", sync)
                self.check_end(base, sync)
                self.assertEqual(run.bytes_of("images.jsonl"), images)

    def test_of_a_finished_run_only_the_model_may_stay(self):
        whole = self.copy_of_done("whole")
        run = self.copy_of_stopped("run")
        self.succeed("--resume", "run", "checkpoint.last=model")
        self.check_end(RUN, "run")
        self.assertEqual(len(run.checkpoints()), 1)
        before, now = (folder.checkpoints()[-1] for folder in (whole, run))
        self.assertLess(10 * (now / "training.safetensors").stat().st_size,
                        (before / "training.safetensors").stat().st_size)
        for name in ["model.safetensors", "importance.table", "partition.npy"]:
            self.assertEqual((now / name).read_bytes(), (before / name).read_bytes(), name)
        self.succeed("--resume", "run", "checkpoint.last=model")
        self.check_end(RUN, "run")
        evaluated = subprocess.run([training.IMPART, "evaluate", "run"], cwd=self.folder, text=True,
                                   capture_output=True, check=False)
        self.assertEqual(evaluated.returncode, 0, evaluated.stderr)

    def test_no_run_to_resume(self):
        os.mkdir(self.folder / "empty")
        self.fail_with(65, "empty: is no run directory", "--resume", "empty")
        self.fail_with(65, "missing: there is no such folder", "--resume", "missing")
        self.assertEqual(os.listdir(self.folder / "empty"), [])
        self.assertFalse((self.folder / "missing").exists())

    def contents(self, name):
        folder = self.folder / name
        return {str(path.relative_to(folder)): path.read_bytes()
                for path in sorted(folder.rglob("*")) if path.is_file()}

    def test_a_second_run_into_the_same_output_is_refused(self):
        self.copy_of_done("run")
        before = self.contents("run")
        err = self.fail_with(2, "run: already holds a run", *settings(RUN), "output=run")
        self.assertIn("--overwrite", err)
        self.assertEqual(self.contents("run"), before)
        # A refusal for another reason loses nothing either, although the run may be overwritten.
        self.fail_with(2, "warmup", *settings(RUN, partition__warmup=99), "output=run",
                       "--overwrite")
        self.assertEqual(self.contents("run"), before)
        self.succeed(*settings(RUN, epochs=3), "output=run", "--overwrite")
        self.assertEqual(self.run_folder("run").lines(), 3)

    def test_overwrite_with_data_that_cannot_be_read_loses_nothing(self):
        self.copy_of_done("run")
        before = self.contents("run")
        code, _, _ = self.train(*settings(RUN, data__name="cifar10", data__root="missing"),
                                "output=run", "--overwrite")
        self.assertIn(code, [2, 65])
        self.assertIn("summary.json", self.contents("run"))
        self.assertEqual(self.contents("run")["summary.json"], before["summary.json"])

    def test_resume_and_overwrite_contradict(self):
        self.copy_of_stopped("run")
        before = self.contents("run")
        code, _, err = self.train("--resume", "run", "--overwrite")
        self.assertEqual(code, 2, err)
        self.assertEqual(self.contents("run"), before)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="impart-train-") as shared:
        ResumeTest.shared = pathlib.Path(shared)
        print(f"IMPART_TEST_SEED={SEED} IMPART_KILLS={KILLS}", flush=True)
        unittest.main()
