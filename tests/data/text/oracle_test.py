#!/usr/bin/env python3
"""Byte-pair merges and the generated corpus, against plain Python that computes the same.

    python3 oracle_test.py path/to/blocks_command
"""

import collections
import itertools
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "oracle"))
from philox import Stream  # noqa: E402

COMMAND = os.path.abspath(sys.argv.pop(1))


def blocks(*args):
    done = subprocess.run([COMMAND, "data", "blocks", *map(str, args), "--json"], text=True,
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def kind_of(byte):
    if byte in b" \t\n\v\f\r":
        return "space"
    if byte in b"0123456789":
        return "digit"
    return "letter" if byte >= 128 or chr(byte).isalpha() else "sign"


def split_words(text):
    """Runs of one kind of byte; a blank at the end of white space goes to the next run."""
    runs = [(kind, bytes(run)) for kind, run in itertools.groupby(text, key=kind_of)]
    words, blank = [], b""
    for i, (kind, run) in enumerate(runs):
        if kind == "space":
            blank = b" " if run.endswith(b" ") and i + 1 < len(runs) else b""
            words.append(run[:len(run) - len(blank)])
        else:
            words.append(blank + run)
            blank = b""
    assert b"".join(words) == text
    return [word for word in words if word]


def merge(tokens, pair, made):
    merged, i = [], 0
    while i < len(tokens):
        if tuple(tokens[i:i + 2]) == pair:
            merged.append(made)
            i += 2
        else:
            merged.append(tokens[i])
            i += 1
    return merged


def learn(text, merges):
    """Counts all pairs anew for every merge."""
    words = [list(word) for word in split_words(text)]
    learned = []
    while len(learned) < merges:
        counts = collections.Counter(pair for word in words for pair in zip(word, word[1:]))
        if not counts or max(counts.values()) < 2:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        learned.append(best)
        words = [merge(word, best, 255 + len(learned)) for word in words]
    return learned, sum(map(len, words))


def make_text(seed, words=700):
    rng = random.Random(seed)
    lexicon = ["".join(rng.choice("etaoinaé") for _ in range(rng.randint(1, 6))) for _ in range(60)]
    return "".join(rng.choice(lexicon) + rng.choice([" ", " ", "  ", ", ", ".\n", "\n\n ", " 1999 "])
                   for _ in range(words)).encode()


class BytePairTest(unittest.TestCase):
    def test_merges_equal_those_of_counting_anew(self):
        for seed in range(4):
            text = make_text(seed)
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "train.txt").write_bytes(text)
                (folder / "valid.txt").write_bytes(text)
                shown = blocks(folder, "--tokenizer", "bpe", "--vocabulary", 257 + 250,
                               "--length", 8, "--save-vocabulary", folder / "saved")
                saved = (folder / "saved").read_text().splitlines()
            merges = [tuple(map(int, line.split())) for line in saved[4:-1]]
            expected, tokens = learn(text, 250)
            self.assertEqual(saved[3], f"rows {len(expected)}")
            self.assertEqual(merges, expected)
            self.assertEqual(shown["tokens"], tokens)


class GeneratedTest(unittest.TestCase):
    LETTERS = " '-.?_abcdefghijklmnopqrstuvwxyz"
    MORE_STEPS = [0.06, 0.15, 0.26, 0.38, 0.50, 0.61, 0.70, 0.78]

    def block(self, seed, number, length):
        rings = [Stream(seed, "text-ring", 0, k).shuffle(list(range(32))) for k in range(8)]
        stream = Stream(seed, "text-train", 0, number)
        source, shuffled = stream.below(8), stream.uniform() < 0.05
        place, tokens = stream.below(32), []
        for _ in range(length + 1):
            tokens.append(rings[source][place % 32])
            place += 1
            while stream.uniform() < self.MORE_STEPS[source]:
                place += 1
        if shuffled:
            stream.shuffle(tokens)
        return "".join(self.LETTERS[t] for t in tokens), 1 if shuffled else self.truth(source)

    def truth(self, source):
        weights = [self.MORE_STEPS[source]**k for k in range(32)]
        return -sum(w / sum(weights) * math.log2(w / sum(weights)) for w in weights) / 5

    def test_blocks_and_their_truth(self):
        shown = blocks("generated", "--length", 20, "--seed", 7, "--top", 100)
        for block in shown["blocks"]:
            text, truth = self.block(7, block["id"], 20)
            self.assertEqual(block["text"], text)
            self.assertAlmostEqual(block["truth"], truth, places=6)
        self.assertIn(1, [block["truth"] for block in shown["blocks"]])


if __name__ == "__main__":
    unittest.main()
