#!/usr/bin/env python3
"""What `impart train` says to wrong input, and of a configuration.

    python3 bad_input_test.py path/to/impart
"""

import os
import re
import resource
import shutil
import subprocess
import unittest

import training
from training import IMPART, SHORT, RunFolder, settings

TINY = {**SHORT, "epochs": 3, "data.train_examples": 64, "data.test_examples": 20}
RECORD = 3073  # bytes of an image of CIFAR-10 with its label


class InputTest(training.TrainingTest):
    def write(self, name, content):
        (self.folder / name).write_text(content)
        return name

    def refuse(self, code, message, *args):
        """One line on stderr that contains the message, and nothing is created."""
        before = sorted(os.listdir(self.folder))
        found, out, err = self.train(*args)
        self.assertEqual(found, code, err)
        self.assertEqual(out, "")
        self.assertIn(message, err)
        self.assertTrue(err.startswith("impart: "), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def fail_in_run(self, code, message, *args):
        """The same, for what is found only when the data is read: still before there is a run."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        err = self.fail_with(code, message, *args, "output=run")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertFalse((self.folder / "run").exists(), "bad input must not leave a run")


class ConfigTest(InputTest):
    def test_files_are_refused_with_line_and_column(self):
        cases = {
            "name: a\npartition:\n  heuristik: stripes\n":
                "run.yaml:3:3: unknown key 'heuristik' in partition, did you mean 'heuristic'?",
            "partitoin: {interval: 3}\n":
                "run.yaml:1:1: unknown key 'partitoin', did you mean 'partition'?",
            "epochs: 2\nbatch: 32\n":
                "run.yaml:2:1: unknown key 'batch'",
            "workers: {count: 4, batch: many}\n":
                "run.yaml:1:28: workers.batch: ",
            "importance:\n  notion: loss-varience\n":
                "run.yaml:2:11: importance.notion: unknown notion 'loss-varience', "
                "did you mean 'loss-variance'?",
            "epochs: [1, 2]\n": "run.yaml:1:9: epochs: found a list",
            "epochs: 2\nepochs: 3\n": "run.yaml:2:1: key 'epochs' is there twice",
            "epochs: {\n": "run.yaml:2:1: not valid YAML",
            "base: other.yaml\n": "run.yaml:1:7: base: there is no file other.yaml",
        }
        for content, message in cases.items():
            with self.subTest(content=content):
                self.refuse(2, message, self.write("run.yaml", content))

    def test_files_that_are_no_config(self):
        self.refuse(2, "there is no file 'none.yaml' and no preset of that name", "none.yaml")
        os.mkdir(self.folder / "folder.yaml")
        self.refuse(2, "folder.yaml: is a folder", "folder.yaml")
        (self.folder / "binary.yaml").write_bytes(bytes(range(256)))
        self.refuse(2, "binary.yaml", "binary.yaml")

    def test_values_are_refused(self):
        cases = {
            "epochs=0": "'0' is out of range; allowed: 1 to",
            "workers.batch=0": "'0' is out of range; allowed: 1 or more",
            "workers.batch=-1": "-1",
            "workers.count=0": "out of range",
            "workers.count=4.5": "4.5",
            "workers.sync=sometimes": "sometimes",
            "optimizer.lr=0": "more than 0",
            "optimizer.lr=nan": "nan",
            "optimizer.lr=fast": "fast",
            "seed=-1": "-1",
            "exchange.fraction=1.5": "1.5",
            "checkpoint.keep=0": "1 or more",
            "threads=100000": "0 to 4096",
            "model.name=resnet81": "unknown model 'resnet81', did you mean 'resnet18'?",
            "data.name=cifar": "unknown data set 'cifar', did you mean 'cifar10'?",
            "data.augment=flip": "augmentation 'flip'",
            "importance.notion=forgeting": "unknown notion 'forgeting', did you mean 'forgetting'?",
            "importance.record=[el2n, marign]": "unknown notion 'marign', did you mean 'margin'?",
            "partition.heuristic=strips": "unknown heuristic 'strips', did you mean 'stripes'?",
            "exchange.strategy=ispair": "unknown exchange 'ispair', did you mean 'is-pair'?",
            "device=gpu": "unknown device 'gpu'; there are: auto, cpu, cuda",
            "learning_rate=1": "unknown key 'learning_rate'",
            "optimizer=sgd": "optimizer is a section",
            "output=": "output is empty",
            "output=runs/{date}": "{date}",
            "name=a/b": "name: 'a/b'",
        }
        for setting, message in cases.items():
            with self.subTest(setting=setting):
                self.refuse(2, message, setting)
        self.refuse(2, "override 'epochs=x': ", "epochs=x")

    def test_values_that_contradict_each_other(self):
        cases = {
            "workers.transport: nccl is for NVIDIA GPUs": ["device=cpu", "workers.transport=nccl"],
            "partition.warmup is 7, but epochs is 6": ["epochs=6", "partition.warmup=7"],
            "importance.ignore 3, partition.warmup 3": ["importance.ignore=3"],
            "optimizer.warmup_epochs is 9, but epochs is 6": ["epochs=6",
                                                              "optimizer.warmup_epochs=9"],
            "workers.batch_norm: 2 needs workers.sync": ["workers.batch_norm=2", "workers.sync=epoch"],
            "workers.batch_norm: shared needs workers.sync": ["workers.batch_norm=shared",
                                                              "workers.sync=epoch"],
            "is-pair needs workers.count of 2 or more": ["exchange.strategy=is-pair",
                                                         "workers.count=1"],
            "is-pair would never exchange": ["exchange.strategy=is-pair", "partition.interval=1"],
        }
        for message, arguments in cases.items():
            with self.subTest(arguments=arguments):
                self.refuse(2, message, *arguments)

    def test_more_workers_than_examples(self):
        self.fail_in_run(2, "there are 65 workers, but only 64 training examples",
                         *settings(TINY, workers__count=65))

    def test_a_batch_of_any_size(self):
        self.succeed(*settings(TINY, workers__batch=4294967295), "output=run")
        self.assertEqual(RunFolder(self.folder / "run").column("step"), [1, 2, 3])


class DataTest(InputTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.folder / "cifar")
        for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
            (self.folder / "cifar" / name).write_bytes(bytes(RECORD * 4))
        self.settings = settings(TINY, data__name="cifar10", data__root="cifar")

    def test_whole_files_are_read(self):
        self.succeed(*self.settings, "output=run")
        self.assertEqual(RunFolder(self.folder / "run").summary()["examples"], 20)

    def test_a_truncated_file(self):
        os.truncate(self.folder / "cifar/data_batch_2.bin", RECORD * 3 + 1)
        self.fail_in_run(65, "cifar/data_batch_2.bin: byte 9219: record 3 has only 1 of its 3073",
                         *self.settings)
        os.truncate(self.folder / "cifar/data_batch_2.bin", 0)
        self.fail_in_run(65, "cifar/data_batch_2.bin: the file is empty", *self.settings)

    def test_a_label_out_of_range(self):
        content = bytearray(RECORD * 4)
        content[RECORD * 2] = 10
        (self.folder / "cifar/test_batch.bin").write_bytes(content)
        self.fail_in_run(65, "cifar/test_batch.bin: byte 6146: record 2 has label 10, which is not "
                         "in 0..9", *self.settings)

    def test_missing_files(self):
        os.remove(self.folder / "cifar/data_batch_5.bin")
        self.fail_in_run(65, "cifar/data_batch_5.bin: there is no such file", *self.settings)
        self.fail_in_run(65, "none/data_batch_1.bin: there is no such file",
                         *self.settings, "data.root=none")
        self.fail_in_run(65, "data.root must name the folder", *self.settings, "data.root=")


class OutputTest(InputTest):
    def test_a_folder_that_cannot_be_made(self):
        self.write("file", "")
        self.refuse(74, "file/run: cannot create: ", *settings(TINY), "output=file/run")
        self.refuse(74, "file: cannot create: ", *settings(TINY), "output=file")

    def test_a_folder_that_cannot_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        os.mkdir(self.folder / "sealed", 0o500)
        self.refuse(74, "sealed/run: cannot create: Permission denied", *settings(TINY),
                    "output=sealed/run")

    def test_a_file_that_cannot_grow(self):
        """As on a full disk, for users who cannot mount one."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        done = subprocess.run([IMPART, "train", *settings(TINY), "output=run"], cwd=self.folder,
                              text=True, capture_output=True, check=False, preexec_fn=limit)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertRegex(done.stderr, r"impart: run/checkpoints/.*: File too large")
        run = RunFolder(self.folder / "run")
        self.assertEqual(run.markers(), ["FAILED"])
        self.assertEqual(os.listdir(run.path / "checkpoints"), [])
        self.succeed("--resume", "run")
        self.succeed(*settings(TINY), "output=unbroken")
        self.assert_same_outcome(run.outcome(), RunFolder(self.folder / "unbroken").outcome())

    def test_a_full_disk(self):
        disk = self.folder / "disk"
        os.mkdir(disk)
        mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
        if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
            self.skipTest("cannot mount a small disk")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        self.succeed(*settings(TINY), "output=unbroken")
        # Too small for the first file, for the record, for a checkpoint, and for the second one.
        for size in ["8k", "20k", "400k", "12m"]:
            with self.subTest(size=size):
                subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
                err = self.fail_with(74, "No space left on device", *settings(TINY),
                                     "output=disk/run")
                self.assertRegex(err, r"(?m)^impart: disk/run/.*: No space left on device$")
                subprocess.run(["mount", "-o", "remount,size=100m", str(disk)], check=True)
                if (disk / "run/config.yaml").exists():
                    self.succeed("--resume", "disk/run")
                    self.assert_same_outcome(RunFolder(disk / "run").outcome(),
                                             RunFolder(self.folder / "unbroken").outcome())
                shutil.rmtree(disk / "run")


class DivergenceTest(InputTest):
    # One step in an epoch, so that the first loss is still that of the first weights.
    WILD = settings(TINY, optimizer__lr=1e20, workers__batch=16)

    def test_a_diverged_run_says_so_and_ends(self):
        err = self.fail_with(86, "impart: run: diverged: the training loss is not finite since "
                             "epoch 2", *self.WILD, "output=run")
        self.assertRegex(err, r"(?m)^epoch 2: the training loss is -?nan: diverged$")
        self.assertRegex(err, r"epoch 2: 64 visits had a NaN or infinite signal")
        run = RunFolder(self.folder / "run")
        self.assertEqual(run.column("train_loss")[1:], [None])
        self.assertEqual(run.summary()["diverged_at"], 1)
        self.assertEqual(run.markers(), ["FAILED"])
        self.assertIn("diverged: ", (run.path / "FAILED").read_text())
        self.assertEqual(run.newest_state()["epoch"], 1, "the checkpoint before it is kept")
        self.fail_with(86, "diverged", "--resume", "run")

    def test_a_diverged_run_may_go_on(self):
        out, err = self.succeed(*self.WILD, "train.stop_on_nan=false", "output=run")
        self.assertIn("diverged: the training loss is not finite since epoch 2\n", out)
        self.assertEqual(err.count(": diverged\n"), 1, err)
        run = RunFolder(self.folder / "run")
        self.assertEqual(run.column("non_finite")[1:], [64, 64])
        self.assertEqual(run.column("train_loss")[1:], [None, None])
        self.assertEqual(run.summary()["diverged_at"], 1)
        self.assertEqual(run.markers(), ["DONE"])

    def test_a_diverged_run_that_stopped_can_be_told_to_go_on(self):
        self.fail_with(86, "diverged", *self.WILD, "output=run")
        self.succeed("--resume", "run", "train.stop_on_nan=false")
        self.succeed(*self.WILD, "train.stop_on_nan=false", "output=unbroken")
        self.assert_same_outcome(RunFolder(self.folder / "run").outcome(),
                                 RunFolder(self.folder / "unbroken").outcome())

    def test_a_run_that_did_not_diverge_says_that_too(self):
        self.succeed(*settings(TINY), "output=run")
        self.assertIsNone(RunFolder(self.folder / "run").summary()["diverged_at"])


class ExplainTest(InputTest):
    def test_dry_run_prints_a_config_that_loads_again(self):
        out, _ = self.succeed(*settings(TINY), "name=a: \"b\" # c", "data.root=d\\e 'f'",
                              "importance.record=[el2n, margin]", "output=runs/{name}", "--dry-run")
        self.assertEqual(os.listdir(self.folder), [])
        again, _ = self.succeed(self.write("run.yaml", out), "--dry-run")
        self.assertEqual(again, out)
        self.assertIn("train_examples: 64\n", out)
        changed, _ = self.succeed("run.yaml", "epochs=4", "--dry-run")
        self.assertEqual(changed, out.replace("epochs: 3\n", "epochs: 4\n", 1)
                         .replace("# of 3 epochs", "# of 4 epochs"))

    def test_a_run_keeps_its_config(self):
        self.succeed(*settings(TINY), "output=run")
        again, _ = self.succeed("run/config.yaml", "--dry-run")
        self.assertEqual(again, (self.folder / "run/config.yaml").read_text())

    def test_keys_explains_every_key_of_the_config(self):
        keys, _ = self.succeed("--keys")
        config, _ = self.succeed("--dry-run")
        section = ""
        for line in config.splitlines():
            name, _, value = line.partition(":")
            if not line.startswith(" "):
                section = name
            path = f"{section}.{name.strip()}" if line.startswith(" ") else name
            if value or line.startswith(" "):
                self.assertRegex(keys, rf"(?m)^  {re.escape(path)} +\S+ +\w")

    def test_help_names_the_exit_codes(self):
        out, _ = self.succeed("--help")
        for word in ["--resume", "--overwrite", "--dry-run", "--keys", "Exit codes", "mpirun"]:
            self.assertIn(word, out)


if __name__ == "__main__":
    unittest.main()
