#!/usr/bin/env python3
"""Steps to a target against batch size, with the learning rate tuned again at every point, in three studies.

    experiments/batch-size/stages.py FOLDER [--base FILE] [--batches 16 32 …] [--rates 0.0125 0.025 …]

Every call looks at what FOLDER has, writes the study that is next, and says how to run it:

    tune      every batch size at every learning rate, random parts, one seed
    narrow    every batch size and placement at the best rate of before, its half and its double, two seeds
    confirm   every batch size and placement at its best rate, on five seeds that chose nothing

and after that FOLDER/points.csv, the steps of every confirmed run, and the fits: steps = S (1 + B / batch),
of which B is the critical batch size (there it takes twice the least steps, and twice the least examples).
A run that has not reached the target within its epochs counts as infinitely late. Batch sizes are those of
one worker.
"""

import argparse
import csv
import math
import pathlib
import statistics
import sys

import numpy
from scipy import optimize, stats

HERE = pathlib.Path(__file__).resolve().parent
PLACEMENTS = {
    "random": {"heuristic": "random", "warmup": 0, "interval": 1},
    "stripes": {"heuristic": "stripes", "warmup": 2, "interval": 2},
    "blocks": {"heuristic": "blocks", "warmup": 2, "interval": 2},
}
SEEDS = {"tune": [1], "narrow": [2, 3], "confirm": [11, 12, 13, 14, 15]}


def read_runs(file):
    """{(placement, batch, rate): [steps of each seed, by seed]}"""
    runs = {}
    with open(file, newline="") as lines:
        for line in csv.DictReader(lines):
            arm = line["arm"].split()
            key = (arm[0], int(arm[1].removeprefix("b")), float(arm[2].removeprefix("lr")))
            reached = float(line.get("stopped_at.reached") or 0) > 0
            steps = float(line["stopped_at.steps"]) if reached else math.inf
            runs.setdefault(key, []).append((int(line["seed"]), steps))
    return {key: [steps for _, steps in sorted(found)] for key, found in runs.items()}


def median(values):
    return statistics.median(values)


def best_rate(runs, placement, batch):
    """The rate with the fewest steps in the middle of its seeds; of equal ones the smallest."""
    found = [(median(steps), rate) for (p, b, rate), steps in runs.items() if (p, b) == (placement, batch)]
    if not found or math.isinf(min(found)[0]):
        return None
    return min(found)[1]


def tune(batches, rates, _):
    return [("random", batch, rate) for batch in batches for rate in rates]


def narrow(batches, _, runs):
    points = []
    for batch in batches:
        best = best_rate(runs["tune"], "random", batch)
        if best is None:
            print(f"batch {batch}: no rate reached the target")
            continue
        points += [(placement, batch, rate) for placement in PLACEMENTS
                   for rate in [best / 2, best, best * 2]]
    return points


def confirm(batches, _, runs):
    points = []
    for batch in batches:
        for placement in PLACEMENTS:
            best = best_rate(runs["narrow"], placement, batch)
            if best is not None:
                points.append((placement, batch, best))
    return points


STAGES = {"tune": tune, "narrow": narrow, "confirm": confirm}


def study(stage, points, base):
    arms = []
    for placement, batch, rate in points:
        partition = ", ".join(f"{key}: {value}" for key, value in PLACEMENTS[placement].items())
        arms.append(f"  random b{batch} lr{rate:g}" if placement == "random" else f"  {placement} b{batch} lr{rate:g}")
        arms[-1] += f": {{workers: {{batch: {batch}}}, optimizer: {{lr: {rate:g}}}, partition: {{{partition}}}}}"
    return "\n".join([f"name: batch-size-{stage}", f"base: {base.resolve()}", "arms:", *arms,
                      f"seeds: {SEEDS[stage]}", ""])


def steps_at(log_batch, log_steps, log_critical):
    return log_steps + numpy.log1p(numpy.exp(log_critical - log_batch))


def fit(points):
    """Least and critical number of examples a step, and the slope over the three smallest batches."""
    batches, steps = (numpy.log(column) for column in zip(*sorted(points)))
    (least, critical), _ = optimize.curve_fit(steps_at, batches, steps, p0=[steps.min(), batches.mean()])
    slope = stats.linregress(batches[:3], steps[:3]).slope
    return math.exp(least), math.exp(critical), slope


def write_points(file, runs, workers):
    with open(file, "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["placement", "batch", "rate", "seed", "steps"])
        for (placement, batch, rate), found in sorted(runs.items()):
            for seed, steps in zip(SEEDS["confirm"], found):
                table.writerow([placement, batch * workers, rate, seed, "" if math.isinf(steps) else int(steps)])


def report(runs, workers):
    criticals = {}
    print("placement  seed  least steps  critical batch  slope of the smallest three")
    for placement in PLACEMENTS:
        for number, seed in enumerate(SEEDS["confirm"]):
            points = [(batch * workers, steps[number]) for (p, batch, _), steps in runs.items()
                      if p == placement and len(steps) > number and not math.isinf(steps[number])]
            least, critical, slope = fit(points)
            criticals.setdefault(placement, []).append(math.log(critical))
            print(f"{placement:9}  {seed:4}  {least:11.0f}  {critical:14.0f}  {slope:.2f}")
    for placement in list(PLACEMENTS)[1:]:
        differences = numpy.subtract(criticals[placement], criticals["random"])
        test = stats.ttest_1samp(differences, 0)
        half = stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences)
        mean, low, high = (math.exp(x) for x in [differences.mean(), differences.mean() - half, differences.mean() + half])
        print(f"{placement}: critical batch {mean:.2f} times that of random parts ({low:.2f} … {high:.2f}), p {test.pvalue:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--base", type=pathlib.Path, default=HERE / "base.yaml")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512, 1024, 2048])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    runs = {}
    for stage, points_of in STAGES.items():
        points = points_of(arguments.batches, arguments.rates, runs)
        if not points:
            sys.exit(f"{stage}: there is no point that reached the target")
        file, results = arguments.folder / f"{stage}.yaml", arguments.folder / f"{stage}.csv"
        file.write_text(study(stage, points, arguments.base))
        runs[stage] = read_runs(results) if results.exists() else {}
        found, wanted = sum(map(len, runs[stage].values())), len(points) * len(SEEDS[stage])
        if found < wanted:
            print(f"{stage}: {found} of {wanted} runs; go on with\n"
                  f"impart study {file} --results {results}")
            return
    write_points(arguments.folder / "points.csv", runs["confirm"], arguments.workers)
    report(runs["confirm"], arguments.workers)


if __name__ == "__main__":
    main()
