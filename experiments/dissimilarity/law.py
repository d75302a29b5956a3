#!/usr/bin/env python3
"""How much gradients of workers differ after exchanges, beside the law that theory expects.

    impart study experiments/dissimilarity/study.yaml --jobs 2 output=DIR
    experiments/dissimilarity/law.py DIR > experiments/dissimilarity/law.csv

A line for every run: what was exchanged, and ‖g_k − ḡ‖²/‖ḡ‖², mean over workers, before the first exchange
and after each, all at the same weights.
"""

import csv
import json
import pathlib
import sys


def main():
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["strategy", "fraction", "seed", "before", "after_1", "after_2", "after_3"])
    for folder in sorted(pathlib.Path(sys.argv[1]).glob("runs/*/*")):
        config = dict(line.split(": ", 1) for line in (folder / "config.yaml").read_text().splitlines()
                      if ": " in line)
        arm = folder.parent.name
        strategy, _, fraction = arm.partition("-fraction-")
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        table.writerow([strategy, fraction.replace("-", ".") or 0, config["seed"],
                        *(f"{line['dissimilarity']:.6g}" for line in lines)])


if __name__ == "__main__":
    main()
