#!/usr/bin/env python3
"""Runs the command as a user would: python3 command_test.py path/to/impart"""

import json
import os
import pathlib
import pty
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

IMPART = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else shutil.which("impart")


def npy(kind, values):
    """The bytes of a one-dimensional .npy file; kind is a struct letter."""
    descr = {"f": "<f4", "d": "<f8", "I": "<u4", "q": "<i8"}[kind]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{kind}", *values))


def without_progress(text):
    """What is said on stderr; on a slow machine also how far it is."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("opening "))


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, content):
        data = content if isinstance(content, bytes) else content.encode()
        (self.folder / name).write_bytes(data)
        return name

    def impart(self, *args):
        return subprocess.run([IMPART, *map(str, args)], cwd=self.folder, text=True,
                              capture_output=True, check=False)

    def succeed(self, *args):
        done = self.impart(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(without_progress(done.stderr), "")
        return done.stdout

    def fail_with(self, code, message, *args):
        """One line on stderr that contains the message, that exit code, and no new file."""
        before = sorted(os.listdir(self.folder))
        done = self.impart(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def scores(self, count=100, name="scores.csv"):
        ids = list(range(count))
        random.Random(1).shuffle(ids)
        values = [random.Random(i).expovariate(1) for i in range(count)]
        self.write(name, "id,importance\n" + "".join(f"{i},{values[i]!r}\n" for i in ids))
        return values

    def owners(self, name="owners.csv"):
        lines = (self.folder / name).read_text().splitlines()
        self.assertEqual(lines[0], "id,worker")
        pairs = [tuple(map(int, line.split(","))) for line in lines[1:]]
        self.assertEqual([i for i, _ in pairs], list(range(len(pairs))))
        return [worker for _, worker in pairs]


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


class PartitionTest(CommandTest):
    def test_stripes_deal_the_ranking_round_robin(self):
        values = self.scores()
        out = self.succeed("partition", "--importance", "scores.csv", "--heuristic", "stripes",
                           "--workers", 4, "-o", "owners.csv")
        ranking = sorted(range(100), key=lambda i: (-values[i], i))
        expected = [None] * 100
        for rank, example in enumerate(ranking):
            expected[example] = rank % 4
        self.assertEqual(self.owners(), expected)
        self.assertIn("imbalance", out)

    def test_json_has_the_promised_keys(self):
        self.scores(101)
        result = json.loads(self.succeed("partition", "--importance", "scores.csv", "--heuristic",
                                         "blocks", "--workers", 4, "--json"))
        self.assertEqual(sum(result["sizes"]), 101)
        self.assertEqual(len(result["sums"]), 4)
        for key in ["imbalance_cv", "imbalance_ks"]:
            self.assertGreater(result[key], 0)
        self.assertEqual((result["moved"], result["messages"]), (0, 0))

    def test_npy_and_csv_give_the_same_partition(self):
        values = self.scores(50)
        self.write("scores.npy", npy("d", values))
        self.succeed("partition", "--importance", "scores.csv", "--workers", 3, "-o", "a.csv")
        self.succeed("partition", "--importance", "scores.npy", "--workers", 3, "-o", "b.csv")
        self.assertEqual(self.owners("a.csv"), self.owners("b.csv"))
        self.succeed("partition", "--importance", "scores.npy", "--workers", 3, "-o", "c.npy")
        self.assertEqual((self.folder / "c.npy").read_bytes()[-200:],
                         struct.pack("<50I", *self.owners("a.csv")))
        # Owners written as .npy are read as --previous: nothing moves.
        result = json.loads(self.succeed("partition", "--importance", "scores.npy", "--workers", 3,
                                         "--previous", "c.npy", "--json"))
        self.assertEqual(result["moved"], 0)

    def test_sticky_moves_less(self):
        self.scores(1000)
        base = ["partition", "--importance", "scores.csv", "--workers", 8]
        self.succeed(*base, "--heuristic", "random", "--seed", 3, "-o", "owners.csv")
        run = lambda *more: json.loads(self.succeed(*base, "--previous", "owners.csv", "--json", *more))
        plain, sticky = run(), run("--sticky")
        self.assertGreater(plain["moved"], 800)
        self.assertLess(sticky["moved"], 430)
        self.assertLessEqual(sticky["messages"], 56)

    def test_exchange_changes_a_fraction_of_the_previous_partition(self):
        self.scores(1000)
        base = ["partition", "--importance", "scores.csv", "--workers", 4]
        self.succeed(*base, "-o", "owners.csv")
        result = json.loads(self.succeed(*base, "--previous", "owners.csv", "--exchange", "is-pair",
                                         "--fraction", 0.1, "--json", "-o", "next.csv"))
        self.assertEqual((result["moved"], result["messages"]), (100, 4))
        self.assertEqual(result["sizes"], [250] * 4)
        changed = sum(a != b for a, b in zip(self.owners(), self.owners("next.csv")))
        self.assertEqual(changed, 100)

    def test_labels_give_class_stripes(self):
        self.scores(60)
        self.write("labels.csv", "id,label\n" + "".join(f"{i},{i % 3}\n" for i in range(60)))
        result = json.loads(self.succeed("partition", "--importance", "scores.csv", "--heuristic",
                                         "class-stripes", "--workers", 4, "--labels", "labels.csv",
                                         "--json"))
        self.assertEqual(result["class_skew"], 0)

    def test_non_finite_scores_are_said_and_rank_as_the_largest(self):
        self.write("scores.csv", "id,importance\n0,1\n1,nan\n2,5\n3,inf\n")
        out = self.succeed("partition", "--importance", "scores.csv", "--heuristic", "blocks",
                           "--workers", 2, "-o", "owners.csv")
        self.assertIn("2 scores are NaN or infinite", out)
        self.assertEqual(self.owners(), [1, 0, 0, 1])

    def test_no_examples_and_fewer_examples_than_workers(self):
        self.write("scores.csv", "id,importance\n")
        self.succeed("partition", "--importance", "scores.csv", "--workers", 4, "-o", "owners.csv")
        self.assertEqual(self.owners(), [])
        self.write("scores.csv", "id,importance\n0,1\n")
        self.succeed("partition", "--importance", "scores.csv", "--workers", 40)

    def test_output_to_a_pipe(self):
        self.scores(10)
        os.symlink("/dev/stdout", self.folder / "out.csv")
        out = self.succeed("partition", "--importance", "scores.csv", "--workers", 2, "-o", "out.csv")
        self.assertIn("id,worker\n0,", out)

    def test_a_progress_line_appears_on_a_terminal_when_it_takes_long(self):
        self.write("scores.npy", npy("f", [0.0] * 10))
        os.mkfifo(self.folder / "slow.csv")
        main, side = pty.openpty()
        with subprocess.Popen([IMPART, "partition", "--importance", "slow.csv", "--workers", "2"],
                              cwd=self.folder, stdout=subprocess.DEVNULL, stderr=side) as process:
            with open(self.folder / "slow.csv", "w") as pipe:
                pipe.write("id,importance\n")
                shown = os.read(main, 100).decode()  # blocks until the line is painted
                pipe.write("0,1\n")
            self.assertEqual(process.wait(), 0)
        self.assertIn("reading slow.csv", shown)
        os.close(main)
        os.close(side)


class BadInputTest(CommandTest):
    def test_wrong_usage(self):
        self.scores()
        base = ["partition", "--importance", "scores.csv"]
        self.fail_with(2, "workers is 0", *base, "--workers", 0, "-o", "o.csv")
        self.fail_with(2, "--workers", *base, "--workers", "many")
        self.fail_with(2, "--workers is required", *base)
        self.fail_with(2, "workers is 4294967295; there can be at most 1048576", *base, "--workers",
                       4294967295)
        self.write("many.npy", npy("I", [0] * 99 + [4294967295]))
        self.fail_with(65, "many.npy: example 99 belongs to worker 4294967295", *base, "--workers",
                       2, "--previous", "many.npy")
        self.fail_with(2, "unknown heuristic 'strips', did you mean 'stripes'?", *base, "--workers",
                       2, "--heuristic", "strips")
        self.fail_with(2, "unknown exchange 'ispair', did you mean 'is-pair'?", *base, "--workers",
                       2, "--exchange", "ispair")
        self.fail_with(2, "fraction 1.5 is not between 0 and 1", *base, "--workers", 2,
                       "--exchange", "is", "--fraction", 1.5)
        self.fail_with(2, "--sticky needs --previous", *base, "--workers", 2, "--sticky")
        self.fail_with(2, "class-stripes needs --labels", *base, "--workers", 2, "--heuristic",
                       "class-stripes")
        self.fail_with(2, "must end in .csv or .npy", *base, "--workers", 2, "-o", "owners.txt")
        self.fail_with(2, "unknown command 'partiton', did you mean 'partition'?", "partiton")
        self.fail_with(2, "unknown listing 'notion', did you mean 'notions'?", "list", "notion")
        self.fail_with(2, "--colour", *base, "--workers", 2, "--colour", "red")
        self.fail_with(2, "warm-up of 200 epochs", "schedule", "--warmup", 200)

    def test_what_never_ends_is_refused(self):
        os.symlink("/dev/zero", self.folder / "endless.csv")
        self.fail_with(65, "endless.csv: cannot read: is a device, not a file", "partition",
                       "--importance", "endless.csv", "--workers", 2)
        self.write("comma.yaml", ", ")
        self.fail_with(2, "comma.yaml:1:1: not valid YAML", "study", "comma.yaml", "--dry-run")
        self.write("deep.yaml", "[" * 100000)
        self.fail_with(2, ": nested deeper than 32 levels", "study", "deep.yaml", "--dry-run")

    def test_bad_files(self):
        self.scores(10)
        out = ["-o", "o.csv", "--workers", 2]
        cases = {
            "id,score\n0,1\n": ":1: no column 'importance'",
            "id,importance\n0,1\n0,2\n": ":3: id 0 is a duplicate",
            "id,importance\n0,1\n2,2\n": ":3: id 2 with only 2 rows: ids must be 0..1, and id 1",
            "id,importance\n0,hard\n": ":2: importance 'hard' is not a number",
            "": ":1: empty",
        }
        for content, message in cases.items():
            self.write("bad.csv", content)
            self.fail_with(65, "bad.csv" + message, "partition", "--importance", "bad.csv", *out)
        self.write("cut.npy", npy("f", [1.0] * 10)[:-4])
        self.fail_with(65, "cut.npy: its header promises 40 bytes of data, but there are 36: truncated",
                       "partition", "--importance", "cut.npy", *out)
        self.fail_with(65, "none.csv: cannot open", "partition", "--importance", "none.csv", *out)
        os.mkdir(self.folder / "folder.csv")
        self.fail_with(65, "folder.csv: cannot read", "partition", "--importance", "folder.csv", *out)
        self.write("few.csv", "id,worker\n0,0\n")
        self.fail_with(65, "few.csv: has 1 examples, but there are 10", "partition", "--importance",
                       "scores.csv", "--previous", "few.csv", *out)

    def test_unwritable_output(self):
        self.scores(10)
        base = ["partition", "--importance", "scores.csv", "--workers", 2, "-o"]
        self.fail_with(74, "none/o.csv: cannot create", *base, "none/o.csv")
        os.symlink("/dev/full", self.folder / "full.csv")
        self.fail_with(74, "full.csv: cannot write: No space left on device", *base, "full.csv")

    def test_a_failure_keeps_the_old_output(self):
        self.scores(10)
        self.write("o.csv", "precious")
        self.fail_with(65, "none.csv", "partition", "--importance", "none.csv", "--workers", 2, "-o",
                       "o.csv")
        self.assertEqual((self.folder / "o.csv").read_text(), "precious")


class OtherCommandsTest(CommandTest):
    def test_list_names_everything(self):
        out = self.succeed("list")
        for name in ["loss-variance", "forgetting", "stripes", "class-stripes", "ilag-pair",
                     "cifar10", "generated", "crop-flip", "bpe", "resnet18", "gpt-mini"]:
            self.assertIn(f"  {name} ", out)
        self.assertNotIn("stripes", self.succeed("list", "notions"))

    def test_presets_have_names_in_every_folder(self):
        names = [line.split()[0] for line in self.succeed("list", "presets").splitlines()[1:]]
        self.assertTrue({"quick", "lm/generated", "dais/base"} <= set(names), names)
        for name in names:
            first = self.succeed("train", name, "--dry-run").splitlines()[0]
            self.assertRegex(first, rf"^# preset {name}: /.*/presets/{name}\.yaml$")
        self.assertIn("  quick ", self.succeed("list", "studies"))
        done = self.impart("study", "quick", "--dry-run")
        self.assertIn("4 arms", done.stdout)
        self.assertRegex(done.stderr, r"^preset quick: /.*/presets/studies/quick\.yaml\n$")

    def test_a_file_wins_over_a_preset_of_its_name(self):
        os.mkdir(self.folder / "quick")
        self.assertIn("name: quick\n", self.succeed("train", "quick", "--dry-run"))
        os.rmdir(self.folder / "quick")
        self.write("quick", "name: mine\n")
        self.assertTrue(self.succeed("train", "quick", "--dry-run").startswith(
            "# file quick, not the preset of that name\nname: mine\n"))
        self.write("mine.yaml", "name: mine\n")
        self.assertTrue(self.succeed("train", "mine.yaml", "--dry-run").startswith("name: mine\n"))

    def test_presets_that_are_not_there(self):
        for name, meant in {"qiuck": "quick", "quick.yaml": "quick", "imdb-bpe": "lm/imdb-bpe"}.items():
            self.fail_with(2, f"there is no file '{name}' and no preset of that name; did you mean "
                           f"'{meant}'?", "train", name, "--dry-run")
        self.fail_with(2, "see 'impart list studies'", "study", "everything")
        self.fail_with(2, "is a folder; give a YAML file", "train", ".", "--dry-run")

    def test_presets_of_ones_own(self):
        (self.folder / "own/studies").mkdir(parents=True)
        self.write("own/mine.yaml", "# My settings. And more.\nname: mine\n")
        own = dict(os.environ, IMPART_PRESETS=str(self.folder / "own"))
        listed = subprocess.run([IMPART, "list", "presets"], env=own, text=True, capture_output=True,
                                check=True).stdout
        self.assertEqual(listed.splitlines()[1:], [f"  {'mine':<38} My settings."])
        own["IMPART_PRESETS"] = str(self.folder / "none")
        done = subprocess.run([IMPART, "list", "presets"], env=own, text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("IMPART_PRESETS: there is no folder", done.stderr)

    def test_presets_work_for_any_number_of_epochs(self):
        shown = self.succeed("train", "quick", "epochs=3", "--dry-run")
        self.assertIn('  warmup: "50%"  # of 3 epochs: 2\n', shown)
        self.assertIn('  interval: "25%"  # of 3 epochs: 1\n', shown)

    def test_configurations_are_explained_and_checked_without_the_engine(self):
        shutil.copy2(IMPART, self.folder / "impart")
        alone = lambda *args: subprocess.run(["./impart", "train", *args], cwd=self.folder,
                                             text=True, capture_output=True, check=False)
        self.assertIn("data.coarse", alone("--keys").stdout)
        self.assertIn("epochs: 4", alone("--dry-run", "epochs=4").stdout)
        for setting, message in {
                "model.name=gpt-mini": "gpt-mini is for language, but data.name: shapes is images",
                "data.coarse=true": "data.coarse: true needs data.name: cifar100",
                "model.name=resnet81": "unknown model 'resnet81', did you mean 'resnet18'?"}.items():
            done = alone("--dry-run", setting)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
        done = alone("epochs=4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("this needs impart-engine, which computes with models", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

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

    def test_wrong_commands_get_a_suggestion(self):
        self.fail_with(2, "unknown command 'tarin', did you mean 'train'?", "tarin")
        self.fail_with(2, "unknown command 'ftech', did you mean 'fetch'?", "data", "ftech", "x")
        self.fail_with(2, "give a command: info, pack, verify, blocks, fetch", "data")
        self.fail_with(2, "give a command: train, evaluate, predict")
        self.fail_with(2, "'epochs' is a setting, which is written with its value: epochs=VALUE",
                       "train", "epochs")

    def candidates(self, *words):
        return [line.split("\t")[0] for line in self.succeed("candidates", "--", *words).splitlines()]

    def test_words_are_completed(self):
        self.assertEqual(self.candidates("tr"), ["train"])
        self.assertEqual(self.candidates("data", "f"), ["fetch"])
        self.assertEqual(self.candidates("train", "--over"), ["--overwrite"])
        self.assertEqual(self.candidates("train", "qui"), ["quick"])
        self.assertEqual(self.candidates("train", "quick", "partition.h"), ["partition.heuristic="])
        self.assertEqual(self.candidates("train", "quick", "device="),
                         ["device=auto", "device=cpu", "device=cuda"])
        self.assertEqual(self.candidates("list", "mod"), ["models"])
        self.assertNotIn("candidates", self.candidates(""))
        self.assertNotIn("candidates", self.succeed("--help"))

    def test_bash_completes_with_the_script(self):
        script = self.succeed("completion", "bash") + \
            "for line in 'impart tr' 'impart train quick eval.pro' 'impart train eval.protocol=p'; do\n" \
            "COMP_LINE=$line COMP_POINT=${#line}; _impart; echo \"${COMPREPLY[*]}\"; done\n"
        path = f"{os.path.dirname(IMPART)}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", script], env=dict(os.environ, PATH=path), text=True,
                              capture_output=True, check=True)
        self.assertEqual(done.stdout.split("\n"), ["train", "eval.protocol=", "paper", ""])

    def test_scripts_of_other_shells_are_valid(self):
        for shell in ["zsh", "fish"]:
            script = self.write(f"impart.{shell}", self.succeed("completion", shell))
            self.assertIn("impart candidates", (self.folder / script).read_text())
            if shutil.which(shell):
                subprocess.run([shell, "-n", script], cwd=self.folder, check=True)
        self.fail_with(2, "unknown shell 'tcsh'", "completion", "tcsh")

    def test_manual_pages_say_what_help_says(self):
        page = self.succeed("man", "train").replace("\\-", "-")
        for part in [".TH impart-train 1", "--overwrite", "partition.warmup=3", "Exit codes: 0 done"]:
            self.assertIn(part, page)
        self.succeed("man", "--write", "pages")
        names = sorted(os.listdir(self.folder / "pages"))
        self.assertTrue({"impart.1", "impart-train.1", "impart-data-fetch.1"} <= set(names), names)
        if shutil.which("man"):
            for name in names:
                done = subprocess.run(["man", "--warnings", "-l", name], cwd=self.folder / "pages",
                                      env=dict(os.environ, MANWIDTH="120", LC_ALL="C.UTF-8"), text=True,
                                      capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_help_and_version(self):
        self.assertEqual(self.succeed("help", "train"), self.succeed("train", "--help"))
        self.assertIn("partition", self.succeed("--help"))
        self.assertIn("--sticky", self.succeed("partition", "--help"))
        self.assertRegex(self.succeed("--version"), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
