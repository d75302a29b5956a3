#!/usr/bin/env python3
"""Writes losses as training leaves them, most small and some large, and ten classes of which some
are harder than others: make_scores.py N SCORES.csv LABELS.csv [SEED]"""

import random
import sys


def main(count, scores_path, labels_path, seed="1"):
    rng = random.Random(int(seed))
    with open(scores_path, "w") as scores, open(labels_path, "w") as labels:
        scores.write("id,importance\n")
        labels.write("id,label\n")
        for example in range(int(count)):
            label = rng.randrange(10)
            scores.write(f"{example},{rng.lognormvariate(-2 + label / 10, 1.2):.6g}\n")
            labels.write(f"{example},{label}\n")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
