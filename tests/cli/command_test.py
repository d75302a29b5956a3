#!/usr/bin/env python3
"""What all commands have in common: python3 command_test.py path/to/impart"""

import os
import shutil
import signal
import subprocess
import unittest

from commands import IMPART, CommandTest, without_progress


class UnreadAnswerTest(CommandTest):
    """An answer that is lost is an error of the command; one that nobody waits for is not."""

    def commands(self):
        self.scores()
        return [
            ["partition", "--importance", "scores.csv", "--heuristic", "stripes", "--workers", "4",
             "-o", "owners.csv", "--json"],
            ["list"],
            ["list", "models"],
            ["schedule"],
            ["train", "--dry-run"],
            ["train", "--keys"],
            ["train", "--help"],
            ["io", "--examples", "1000", "--payload", "100", "--strategy", "vanilla"],
            ["io", "--examples", "1000", "--payload", "100", "--strategy", "vanilla", "--csv"],
            ["data", "info", "shapes"],
            ["--help"],
            ["--version"],
        ]

    def test_a_full_disk_is_74(self):
        for command in self.commands():
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                self.succeed(*command)
                done = subprocess.run([IMPART, *command], cwd=self.folder, text=True, stdout=full,
                                      stderr=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, 74, done.stderr)
                self.assertEqual(without_progress(done.stderr), "impart: stdout: cannot write the "
                                 "answer: No space left on device\n")

    def test_a_closed_stdout_is_74(self):
        done = subprocess.run([IMPART, "list"], text=True, stderr=subprocess.PIPE, check=False,
                              preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 74, done.stderr)

    def test_a_reader_that_is_gone_ends_the_command_without_a_word(self):
        for command in self.commands():
            with self.subTest(command=command):
                reader, writer = os.pipe()
                os.close(reader)
                done = subprocess.run([IMPART, *command], cwd=self.folder, text=True,
                                      stdout=writer, stderr=subprocess.PIPE, check=False)
                os.close(writer)
                self.assertEqual(done.returncode, -signal.SIGPIPE, done.stderr)
                self.assertEqual(without_progress(done.stderr), "")

    def test_an_error_keeps_its_code_where_nobody_can_read_it(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([IMPART, "list", "nothing"], stderr=full, check=False)
        self.assertEqual(done.returncode, 2)


class UsageTest(CommandTest):
    def test_list_names_everything(self):
        out = self.succeed("list")
        for name in ["loss-variance", "forgetting", "stripes", "class-stripes", "ilag-pair",
                     "cifar10", "generated", "crop-flip", "bpe", "resnet18", "gpt-mini"]:
            self.assertIn(f"  {name} ", out)
        self.assertNotIn("stripes", self.succeed("list", "notions"))

    def test_loads_neither_the_tensor_library_nor_mpi(self):
        if shutil.which("ldd") is None:
            self.skipTest("no ldd")
        libraries = subprocess.run(["ldd", IMPART], text=True, capture_output=True, check=True).stdout
        for library in ["torch", "libmpi", "libgomp"]:
            self.assertNotIn(library, libraries)

    def test_schedule_prints_events(self):
        out = self.succeed("schedule", "--epochs", 100, "--warmup", 20, "--interval", 30, "--ignore", 5)
        self.assertEqual(out.splitlines()[20:], [
            "epoch 21   repartition by the heuristic, importance from epochs 6..20",
            "epoch 51   repartition by the heuristic, importance from epochs 21..50"])
        kept = self.succeed("schedule", "--epochs", 4, "--warmup", 3, "--start")
        self.assertEqual(kept.splitlines(), [
            "epoch 1    partition of the start",
            "epoch 4    repartition by the heuristic, importance from epochs 1..3"])

    def test_wrong_flags_get_a_suggestion(self):
        for flags, message in {
                ("--epochs", "3"): "unknown flag '--epochs'; settings have no dashes: epochs=3",
                ("--epochs=3",): "unknown flag '--epochs'; settings have no dashes: epochs=3",
                ("--lr", "0.1"): "settings have no dashes: optimizer.lr=0.1",
                ("--batch", "8"): "settings have no dashes: workers.batch=8 or eval.batch=8",
                ("--batch-size", "8"): "settings have no dashes: workers.batch=8",
                ("--epoch", "3"): "settings have no dashes: epochs=3",
                ("-o", "here"): "settings have no dashes: output=here",
                ("--overwite",): "unknown flag '--overwite', did you mean '--overwrite'?",
                ("--what-ever",): "unknown flag '--what-ever'; see 'impart train --help'",
                ("epochs", "3"): "'epochs' is a setting, which is written with its value: epochs=3",
                ("--resume",): "--resume needs a value; see 'impart train --help'",
                ("-q", "-v"): "--quiet excludes --verbose"}.items():
            with self.subTest(flags=flags):
                self.fail_with(2, message, "train", "quick", *flags)
        self.fail_with(2, "unknown flag '--job', did you mean '--jobs'?", "study", "quick", "--job", 2)
        self.fail_with(2, "flags come after the command: impart train --dry-run", "--dry-run", "train")
        self.fail_with(2, "unexpected argument 'b'; see 'impart list --help'", "list", "notions", "b")
        self.fail_with(2, "unexpected argument 'epochs=9', did you mean '--epochs 9'?", "schedule",
                       "epochs=9")
        self.fail_with(2, "RUN takes 2 values", "diff", "run")

    def test_wrong_numbers_are_named(self):
        self.fail_with(2, "--epochs: 'ten' is not a number", "schedule", "--epochs", "ten")
        self.fail_with(2, "--epochs: '99999999999' is out of range", "schedule", "--epochs", 99999999999)
        self.fail_with(2, "--tokens: 'many' is wrong; give a number from 1 to 1000000", "sample", "run",
                       "--tokens", "many")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs to become somebody else")
    def test_a_folder_that_may_not_be_looked_into_is_74(self):
        (self.folder / "closed").mkdir(mode=0o700)
        self.folder.chmod(0o755)
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", IMPART, "report", "closed/run"],
                              cwd=self.folder, text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (74, "impart: closed/run: Permission denied\n"))

    def test_wrong_settings_are_told_what_is_allowed(self):
        for setting, message in {
                "store.cache=512MB": "'512MB' is not a whole number; allowed: 0 to 16777216, in MiB",
                "comm.timeout=5m": "'5m' is not a whole number; allowed: 0 to 1000000, in seconds",
                "exchange.fraction=30%": "'30%' is not a number, but 0.3 is; allowed: 0 to 1",
                "exchange.fraction=300%": "'300%' is not a number; allowed: 0 to 1",
                "device=gpu": "unknown device 'gpu'; there are: auto, cpu, cuda",
                "device=cup": "unknown device 'cup', did you mean 'cpu'?"}.items():
            with self.subTest(setting):
                self.fail_with(2, message, "train", "quick", setting, "--dry-run")
        self.fail_with(2, "override 'seeds=5': seeds is set in the study's file", "study", "quick",
                       "seeds=5", "--dry-run")
        self.fail_with(65, "none: there is no such folder", "train", "--resume", "none", "--dry-run")

    def test_settings_without_effect_are_noted(self):
        done = self.impart("train", "quick", "selection.share=0.3", "exchange.fraction=0.5", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "note: exchange.fraction has no effect with exchange.strategy: none\n"
                         "note: selection.share has no effect with selection.strategy: all\n")
        done = self.impart("train", "quick", "selection.share=0.3", "selection.strategy=random", "--dry-run")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_wrong_commands_get_a_suggestion(self):
        self.fail_with(2, "unknown command 'tarin', did you mean 'train'?", "tarin")
        self.fail_with(2, "unknown command 'ftech', did you mean 'fetch'?", "data", "ftech", "x")
        self.fail_with(2, "give a command: info, pack, verify, index, blocks, fetch, cache", "data")
        self.fail_with(2, "give a command: train, evaluate, predict")
        self.fail_with(2, "'epochs' is a setting, which is written with its value: epochs=VALUE",
                       "train", "epochs")

    def test_help_and_version(self):
        self.assertEqual(self.succeed("help", "train"), self.succeed("train", "--help"))
        self.assertIn("partition", self.succeed("--help"))
        self.assertIn("--sticky", self.succeed("partition", "--help"))
        self.assertRegex(self.succeed("--version"), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
