#!/usr/bin/env python3
"""Whose a run directory is: what may be deleted, who may write, and what if it goes away.

    python3 run_directory_test.py path/to/impart
"""

import os
import shutil
import signal
import subprocess
import unittest

import training
from training import IMPART, SHORT, RunFolder, settings, wait_until

TINY = {**SHORT, "epochs": 2, "data.train_examples": 64, "data.test_examples": 20}
ENDLESS = {**SHORT, "epochs": 100_000}


class DirectoryTest(training.TrainingTest):
    def contents(self, name):
        folder = self.folder / name
        return {str(path.relative_to(folder)): path.read_bytes()
                for path in sorted(folder.rglob("*")) if path.is_file()}

    def start_endless(self, name, **more):
        """A run that has finished its first epoch."""
        run = self.run_folder(name)
        started = self.start(*settings(ENDLESS), f"output={name}", **more)
        self.assertTrue(wait_until(lambda: run.lines() >= 1 or started.is_over(), 60))
        self.assertFalse(started.is_over(), started.texts()[1])
        return started


class OverwriteTest(DirectoryTest):
    def refuse(self, name, foreign):
        before = self.contents(name)
        err = self.fail_with(2, f"{name}: --overwrite deletes only runs", *settings(TINY),
                             f"output={name}", "--overwrite")
        self.assertIn(f": {foreign}; move that away", err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertEqual(self.contents(name), before)

    def test_a_folder_with_a_config_of_its_own_is_no_run(self):
        os.makedirs(self.folder / "p/src")
        (self.folder / "p/config.yaml").write_text("a: 1\n")
        (self.folder / "p/src/thesis").write_text("x\n")
        self.refuse("p", "config.yaml, src/thesis")

    def test_a_folder_with_nothing_of_a_run(self):
        os.mkdir(self.folder / "thesis")
        (self.folder / "thesis/chapter-1.tex").write_text("precious")
        self.refuse("thesis", "chapter-1.tex")

    def test_foreign_files_in_a_run_directory_save_it(self):
        self.succeed(*settings(TINY), "output=run")
        for number in range(7):
            (self.folder / f"run/notes-{number}.txt").write_text("precious")
        self.refuse("run", ", ".join(f"notes-{n}.txt" for n in range(5)) + " and 2 more")

    def test_runs_are_deleted_marked_or_not(self):
        self.succeed(*settings(TINY), "output=run")
        first = self.contents("run")
        (self.folder / "run/run.lock").unlink()  # as older versions left it
        (self.folder / "run/texts.jsonl").write_text("")
        self.succeed(*settings(TINY), "output=run", "--overwrite")
        names = lambda files: {name for name in files if "events.out." not in name}
        self.assertEqual(names(self.contents("run")), names(first))
        self.succeed(*settings(TINY, epochs=3), "output=run", "--overwrite")
        self.assertEqual(self.run_folder("run").lines(), 3)


class LockTest(DirectoryTest):
    def check_refusals(self, pid):
        before = set(self.contents("t"))
        for arguments in [["--resume", "t"], [*settings(TINY), "output=t", "--overwrite"]]:
            err = self.fail_with(2, f"t: process {pid} trains in this run directory", *arguments)
            self.assertIn(f"kill {pid}", err)
            self.assertEqual(err.count("\n"), 1, err)
        self.assertLessEqual(before - set(self.contents("t")), {  # older checkpoints go
            name for name in before if name.startswith("checkpoints/")})

    def check_epochs(self):
        for file in ["metrics.jsonl", "ledger.jsonl"]:
            lines = (self.folder / "t" / file).read_text().splitlines()
            self.assertEqual([line.split(",")[0] for line in lines],
                             [f'{{"epoch":{epoch}' for epoch in range(len(lines))])

    def test_a_second_process_is_refused_and_no_epoch_is_doubled(self):
        started = self.start_endless("t")
        self.check_refusals(started.process.pid)
        started.signal(signal.SIGTERM)
        self.assertEqual(started.wait(), 85)
        self.check_epochs()

    def test_a_killed_process_leaves_no_lock(self):
        started = self.start_endless("t")
        started.signal(signal.SIGKILL)
        started.wait()
        resumed = self.start("--resume", "t")
        lines = self.run_folder("t").lines()
        self.assertTrue(wait_until(lambda: self.run_folder("t").lines() > lines, 60),
                        resumed.texts()[1])
        resumed.signal(signal.SIGTERM)
        self.assertEqual(resumed.wait(), 85, resumed.texts()[1])
        self.check_epochs()

    def test_readers_are_not_refused(self):
        self.start_endless("t")
        for command in [["report", "t", "--no-figures"], ["io", "t"]]:
            done = subprocess.run([IMPART, *command], cwd=self.folder, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


class LostDirectoryTest(DirectoryTest):
    def check_error(self, started):
        self.assertEqual(started.wait(), 74, started.texts()[1])
        # It may notice while it writes a file.
        self.assertRegex(started.texts()[1], r"impart: t(: the run directory was deleted, moved or "
                         r"replaced|/.*: No such file or directory)")

    def test_deleted(self):
        started = self.start_endless("t")
        # Once more if the run is just making a checkpoint.
        while (self.folder / "t").exists():
            shutil.rmtree(self.folder / "t", ignore_errors=True)
        self.check_error(started)
        self.assertFalse((self.folder / "t/DONE").exists())

    def test_replaced_by_another(self):
        started = self.start_endless("t")
        os.rename(self.folder / "t", self.folder / "old")
        os.mkdir(self.folder / "t")
        self.check_error(started)
        self.assertEqual(RunFolder(self.folder / "t").markers(), [])
        self.assertFalse((self.folder / "t/metrics.jsonl").exists())

    def test_emptied(self):
        started = self.start_endless("t")
        (self.folder / "t/run.lock").unlink()
        self.check_error(started)

    def test_stopped_after_it_was_moved(self):
        started = self.start_endless("t")
        os.rename(self.folder / "t", self.folder / "moved")
        started.signal(signal.SIGTERM)
        self.check_error(started)
        self.assertFalse((self.folder / "t/PREEMPTED").exists())


class UnreadOutputTest(DirectoryTest):
    """What is printed can be lost; the run cannot."""

    def check_run(self, **streams):
        unread = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        done = subprocess.run([IMPART, "train", *settings(TINY), "output=run"], cwd=self.folder,
                              check=False, **{**unread, **streams})
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.run_folder("run").markers(), ["DONE"])

    def test_full_disks(self):
        with open("/dev/full", "wb") as full:
            for stream in ["stdout", "stderr"]:
                with self.subTest(stream=stream):
                    self.check_run(**{stream: full})
                    shutil.rmtree(self.folder / "run")

    def test_readers_that_are_gone(self):
        for stream in ["stdout", "stderr"]:
            with self.subTest(stream=stream):
                reader, writer = os.pipe()
                os.close(reader)
                self.check_run(**{stream: writer})
                os.close(writer)
                shutil.rmtree(self.folder / "run")

    def test_closed_streams(self):
        """What is opened first must not take their place."""
        self.check_run(preexec_fn=lambda: os.closerange(0, 3))
        lines = (self.folder / "run/run.lock").read_text().splitlines()
        self.assertEqual(len(lines), 2, lines)


if __name__ == "__main__":
    unittest.main()
