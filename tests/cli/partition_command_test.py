#!/usr/bin/env python3
"""`impart partition`: python3 partition_command_test.py path/to/impart"""

import json
import os
import pty
import struct
import subprocess
import unittest

from commands import IMPART, CommandTest, npy


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


class StartTest(CommandTest):
    """`impart partition --start`: who owns what before anything is known."""

    LABELS = [i * 7 % 5 for i in range(60)]

    def labels(self):
        return self.write("labels.txt", "".join(f"{label}\n" for label in self.LABELS))

    def test_by_class_cuts_what_is_sorted_by_label_and_id(self):
        self.labels()
        out = self.succeed("partition", "--start", "by-class", "--labels", "labels.txt", "--workers",
                           4, "--seed", 1, "-o", "owners.csv")
        order = sorted(range(60), key=lambda i: (self.LABELS[i], i))
        expected = [None] * 60
        for at, example in enumerate(order):
            expected[example] = at // 15
        self.assertEqual(self.owners(), expected)
        self.assertIn("4 of 15 to 15 examples", out)

    def test_labels_may_be_csv_npy_or_lines(self):
        self.labels()
        self.write("labels.csv", "label,id\n" + "".join(
            f"{label},{i}\n" for i, label in reversed(list(enumerate(self.LABELS)))))
        self.write("labels.npy", npy("q", self.LABELS))
        found = []
        for name in ["labels.txt", "labels.csv", "labels.npy"]:
            self.succeed("partition", "--start", "dirichlet", "--alpha", 0.3, "--labels", name,
                         "--workers", 4, "--seed", 5, "-o", "owners.csv")
            found.append(self.owners())
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_json_says_sizes_and_skew(self):
        self.labels()
        base = ["partition", "--labels", "labels.txt", "--workers", 5, "--json", "--start"]
        sorted_parts = json.loads(self.succeed(*base, "by-class"))
        self.assertEqual(sorted_parts["sizes"], [12] * 5)
        self.assertAlmostEqual(sorted_parts["class_skew"], 0.8)
        self.assertEqual(sorted_parts["size_spread"], 1)
        drawn = json.loads(self.succeed(*base, "dirichlet", "--alpha", 0.1))
        self.assertEqual(sum(drawn["sizes"]), 60)
        self.assertGreater(drawn["size_spread"], 1.1)
        even = json.loads(self.succeed(*base, "dirichlet", "--alpha", 0.1, "--sizes", "even"))
        self.assertEqual(even["sizes"], [12] * 5)
        self.assertGreater(even["mean_class_skew"], 2 * even["mean_class_skew_by_chance"])

    def test_examples_stand_in_for_labels_that_are_not_needed(self):
        self.succeed("partition", "--start", "contiguous", "--examples", 5, "--workers", 2, "-o",
                     "owners.csv")
        self.assertEqual(self.owners(), [0, 0, 1, 1, 1])
        self.succeed("partition", "--start", "file", "--start-file", "owners.csv", "--examples", 5,
                     "--workers", 3, "-o", "again.csv")
        self.assertEqual(self.owners("again.csv"), [0, 0, 1, 1, 1])

    def test_wrong_usage(self):
        self.labels()
        self.scores(60)
        base = ["partition", "--workers", 2]
        self.fail_with(2, "--importance is missing", *base)
        self.fail_with(2, "start by-class needs --labels", *base, "--start", "by-class")
        self.fail_with(2, "start random needs --labels, or --examples", *base, "--start", "random")
        self.fail_with(2, "unknown start 'byclass', did you mean 'by-class'?", *base, "--start",
                       "byclass", "--labels", "labels.txt")
        self.fail_with(2, "excludes", *base, "--start", "random", "--importance", "scores.csv")
        self.fail_with(2, "--alpha requires --start", *base, "--importance", "scores.csv", "--alpha", 1)
        self.fail_with(2, "alpha 0 is not between", *base, "--start", "dirichlet", "--labels",
                       "labels.txt", "--alpha", 0)
        self.fail_with(2, "unknown sizes 'evn', did you mean 'even'?", *base, "--start", "dirichlet",
                       "--labels", "labels.txt", "--sizes", "evn")
        self.fail_with(2, "must end in .csv, .npy or .txt", *base, "--start", "by-class", "--labels",
                       "labels.dat")
        self.write("bad.txt", "0\n1\nx\n")
        self.fail_with(65, "bad.txt:3: label 'x' is not a whole number", *base, "--start", "by-class",
                       "--labels", "bad.txt")
        self.write("owners.csv", "id,worker\n0,0\n1,0\n1,1\n")
        self.fail_with(65, "owners.csv:4: id 1 is a duplicate", *base, "--start", "file",
                       "--start-file", "owners.csv", "--examples", 3)


class GradedTest(CommandTest):
    def test_strength_leads_from_chance_to_blocks(self):
        self.scores(200)
        base = ["partition", "--importance", "scores.csv", "--workers", 4]
        self.succeed(*base, "--heuristic", "blocks", "-o", "blocks.csv")
        self.succeed(*base, "--heuristic", "graded-blocks", "--strength", 1, "-o", "owners.csv")
        self.assertEqual(self.owners(), self.owners("blocks.csv"))
        ks = [json.loads(self.succeed(*base, "--heuristic", "graded-blocks", "--strength", strength,
                                      "--json"))["imbalance_ks"] for strength in [0, 0.5, 1]]
        self.assertLess(ks[0] + 0.1, ks[1])
        self.assertLess(ks[1] + 0.1, ks[2])


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


if __name__ == "__main__":
    unittest.main()
