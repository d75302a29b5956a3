#!/usr/bin/env python3
"""`impart data blocks`, as a user runs it.

    python3 blocks_command_test.py path/to/blocks_command
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.path.abspath(sys.argv.pop(1))
TEXT = "".join(f"line {k} of a text that is long enough\n" for k in range(100))


class BlocksTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="impart-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "a.txt").write_text(TEXT)

    def run_blocks(self, *args):
        return subprocess.run([COMMAND, "data", "blocks", *map(str, args)], cwd=self.folder,
                              text=True, capture_output=True, check=False)

    def lines(self, *args):
        done = self.run_blocks(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def refuse(self, code, message, *args):
        done = self.run_blocks(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)

    def test_chosen_examples_with_place_and_text(self):
        lines = self.lines("a.txt", "--length", 16, "--ids", "3,0", "--width", 0)
        self.assertEqual(lines[0], "train: 213 examples of 16 tokens, vocabulary of 256; "
                                   "2 of 3411 tokens left out")
        self.assertEqual(lines[1], "3  a.txt, byte 48  "
                         + TEXT[48:65].replace("\n", "\\n"))
        self.assertEqual(lines[2], "0  a.txt, byte 0  " + TEXT[:17])
        self.assertEqual(len(lines), 3)

    def test_hardest_and_easiest_by_a_file_of_scores(self):
        count = json.loads("\n".join(self.lines("a.txt", "--json", "--length", 16)))["examples"]
        scores = [(7 * i) % count for i in range(count)]
        (self.folder / "importance.csv").write_text(
            "id,visits,loss-average\n" + "".join(f"{i},1,{s}\n" for i, s in enumerate(scores)))
        ranking = sorted(range(count), key=lambda i: (-scores[i], i))
        by_score = ["a.txt", "--length", 16, "--hardest", "importance.csv", "--column",
                    "loss-average", "--top", 5]
        hardest = self.lines(*by_score)[1:]
        self.assertEqual([int(line.split()[0]) for line in hardest], ranking[:5])
        self.assertIn(f"  {scores[ranking[0]]}  ", hardest[0])
        easiest = self.lines(*by_score, "--easiest")[1:]
        self.assertEqual([int(line.split()[0]) for line in easiest], ranking[::-1][:5])
        self.refuse(65, f"{count} scores for {2 * count - 1} examples", *by_score, "--stride", 8)

    def test_a_table_as_json(self):
        (self.folder / "train.tsv").write_text("label\ttext\nbad\tone\ngood\ttwo\x1b[31m\n")
        (self.folder / "dev.tsv").write_text("label\ttext\nbad\tthree\n")
        shown = json.loads("\n".join(self.lines(".", "--json")))
        self.assertEqual([(b["id"], b["label"], b["line"], b["byte"], b["text"])
                          for b in shown["blocks"]],
                         [(0, "bad", 2, 15, "one"), (1, "good", 3, 24, "two\\x1b[31m")])
        test = json.loads("\n".join(self.lines(".", "--json", "--part", "test")))
        self.assertEqual(test["blocks"][0]["text"], "three")

    def test_a_saved_vocabulary_gives_the_same_blocks(self):
        args = ["a.txt", "--tokenizer", "bpe", "--vocabulary", 300]
        first = self.lines(*args, "--save-vocabulary", "saved")
        self.assertEqual(self.lines("a.txt", "--vocabulary-file", "saved"), first)
        (self.folder / "saved").write_text("impart tokenizer 1\n")
        self.refuse(65, "saved: truncated or damaged", "a.txt", "--vocabulary-file", "saved")

    def test_generated_text_has_a_truth(self):
        lines = self.lines("generated", "--top", 2)
        self.assertRegex(lines[1], r"^0  generated, training part, byte 0  truth 0\.\d{3}  ")

    def test_wrong_usage_and_wrong_data(self):
        self.refuse(2, "there is no example 999", "a.txt", "--ids", "999")
        self.refuse(2, "--hardest", "a.txt", "--ids", "1", "--hardest", "x.csv")
        self.refuse(2, "did you mean 'text'?", "a.txt", "--name", "texts")
        self.refuse(65, "none.txt: there is no such file or folder", "none.txt")
        (self.folder / "odd.bin").write_bytes(b"abc")
        self.refuse(65, "odd.bin: byte 2: an odd number of bytes", "odd.bin")


if __name__ == "__main__":
    unittest.main()
