#!/usr/bin/env python3
"""Steps to a target against batch size, with the learning rate tuned again at every point, in three studies.

    experiments/batch-size/stages.py FOLDER [--base FILE] [--batches 16 32 …] [--rates 0.0125 0.025 …]

Every call looks at what FOLDER has, writes the study that is next, and says how to run it:

    tune      every batch size at every learning rate, random parts, one seed
    narrow    every batch size and placement at the best rate of before, its half and its double, two seeds;
              where the best of these is the smallest or the largest, also half or double of it, and so on
    confirm   every batch size and placement at its best rate, on seeds that chose nothing

and after that FOLDER/points.csv, the steps of every confirmed run, FOLDER/points.svg, their picture, and the fits:
steps = S (1 + B / batch), of which B is the critical batch size (there it takes twice the least steps, and twice the
least examples). A run that has not reached the target within its epochs counts as infinitely late: in medians as
that, and a curve that is fitted must lie above the steps after which it ended. Where the runs do not say what S, B or
the slope is, the answer says so instead of a number. Batch sizes are those of one worker.
"""

import argparse
import csv
import math
import os
import pathlib
import statistics
import subprocess
import sys
from typing import NamedTuple

import numpy
from scipy import optimize, stats

HERE = pathlib.Path(__file__).resolve().parent
PLACEMENTS = {
    "random": {"heuristic": "random", "warmup": 0, "interval": 1},
    "stripes": {"heuristic": "stripes", "warmup": 2, "interval": 2},
    "blocks": {"heuristic": "blocks", "warmup": 2, "interval": 2},
}
SEEDS = {"tune": [1], "narrow": [2, 3], "confirm": [11, 12, 13, 14, 15]}
SMALLEST = 3  # so many batch sizes the slope is taken over, and so many must be reached for a fit


class Run(NamedTuple):
    seed: int
    batch: int    # examples a step
    steps: float  # to the target; inf: not reached
    ended: int    # after so many steps


def read_runs(file):
    """{(placement, batch of a worker, rate): [runs, by seed]}"""
    runs = {}
    with open(file, newline="") as lines:
        for line in csv.DictReader(lines):
            arm = line["arm"].split()
            batch, workers = int(arm[1].removeprefix("b")), int(line["workers"])
            ended = int(line["epochs"]) * math.ceil(int(line["examples"]) / (batch * workers))
            reached = float(line.get("stopped_at.reached") or 0) > 0
            steps = float(line["stopped_at.steps"]) if reached else math.inf
            runs.setdefault((arm[0], batch, float(arm[2].removeprefix("lr"))), []).append(
                Run(int(line["seed"]), batch * workers, steps, ended))
    return {key: sorted(found) for key, found in runs.items()}


def median_steps(runs):
    return statistics.median(run.steps for run in runs)


def best_rate(runs, placement, batch):
    """The rate with the fewest steps in the middle of its seeds, of equal ones the smallest; and at which edge of the
    rates that were tried it is: -1, 0 or 1. None where no rate reached the target."""
    found = sorted((rate, median_steps(tried)) for (p, b, rate), tried in runs.items() if (p, b) == (placement, batch))
    if not found or all(math.isinf(steps) for _, steps in found):
        return None, 0
    best = min(found, key=lambda one: (one[1], one[0]))
    return best[0], (best == found[-1]) - (best == found[0])


def tune(batches, rates, _):
    return [("random", batch, rate) for batch in batches for rate in rates]


def narrow(batches, _, runs):
    points = []
    for batch in batches:
        best, edge = best_rate(runs["tune"], "random", batch)
        if best is None:
            print(f"batch {batch}: no rate reached the target")
            continue
        if edge:
            print(f"batch {batch}: {best:g} is the best rate of tune and at its edge")
        for placement in PLACEMENTS:
            points += [(placement, batch, rate) for rate in [best / 2, best, best * 2]]
            points += wider(runs.get("narrow", {}), placement, batch)
    return list(dict.fromkeys(points))


def wider(runs, placement, batch):
    """The rates that were tried here, and one more if the best of them is at the edge."""
    tried = [(placement, b, rate) for p, b, rate in runs if (p, b) == (placement, batch)]
    best, edge = best_rate(runs, placement, batch)
    return tried + ([(placement, batch, best * 2.0 ** edge)] if edge else [])


def confirm(batches, _, runs):
    points = []
    for batch in batches:
        for placement in PLACEMENTS:
            best, edge = best_rate(runs["narrow"], placement, batch)
            if best is not None:
                points.append((placement, batch, best))
            if edge:
                print(f"batch {batch}, {placement}: {best:g} is the best rate of narrow and at its edge")
    return points


STAGES = {"tune": tune, "narrow": narrow, "confirm": confirm}


def study(stage, points, base, folder):
    arms = []
    for placement, batch, rate in points:
        partition = ", ".join(f"{key}: {value}" for key, value in PLACEMENTS[placement].items())
        arms.append(f"  {placement} b{batch} lr{rate:g}: {{workers: {{batch: {batch}}}, optimizer: {{lr: {rate:g}}}, "
                    f"partition: {{{partition}}}}}")
    return "\n".join([f"name: batch-size-{stage}", f"base: {os.path.relpath(base, folder)}", "arms:", *arms,
                      f"seeds: {SEEDS[stage]}", ""])


class Fit(NamedTuple):
    least: float     # steps, however large the batch
    critical: float  # examples a step


def residuals(parameters, runs):
    """By how much more than the curve each run took, in logarithms. One that did not reach the target took more than
    what it ran for: that much above the curve, or nothing that the curve must follow."""
    least, critical = parameters
    found = []
    for run in runs:
        missed = math.isinf(run.steps)
        above = math.log(run.ended if missed else run.steps) - least - numpy.log1p(math.exp(critical) / run.batch)
        found.append(max(0, above) if missed else above)
    return found


def fit(runs):
    """Of one run a batch size: the fit, or why there is none."""
    reached = [run for run in runs if not math.isinf(run.steps)]
    if len(reached) < SMALLEST:
        return f"{len(reached)} batch sizes reached the target, fewer than {SMALLEST}"
    start = [math.log(min(run.steps for run in reached)), math.log(statistics.median(run.batch for run in reached))]
    least, critical = numpy.exp(optimize.least_squares(residuals, start, args=[runs]).x)
    smallest, largest = min(runs, key=lambda run: run.batch).batch, max(runs, key=lambda run: run.batch).batch
    if not smallest <= critical <= largest:
        return f"critical batch {'below' if critical < smallest else 'above'} all batch sizes"
    return Fit(least, critical)


def slope(runs):
    """Of log steps against log batch over the smallest batch sizes, or why there is none."""
    smallest = sorted(runs, key=lambda run: run.batch)[:SMALLEST]
    if len(smallest) < SMALLEST or any(math.isinf(run.steps) for run in smallest):
        return "not all of the smallest batch sizes reached the target"
    return stats.linregress([math.log(run.batch) for run in smallest], [math.log(run.steps) for run in smallest]).slope


class Mean(NamedTuple):
    """Of values of seeds: mean, 95 % interval, p of 0."""
    mean: float
    low: float
    high: float
    p: float


def mean_of(values):
    mean, error, degrees = numpy.mean(values), stats.sem(values), len(values) - 1
    half = stats.t.ppf(0.975, degrees) * error
    return Mean(mean, mean - half, mean + half, 2 * stats.t.sf(abs(mean) / error, degrees))


def holm(chances):
    """By name, corrected for being one of so many."""
    adjusted, found = 0, {}
    for rank, name in enumerate(sorted(chances, key=chances.get)):
        adjusted = max(adjusted, min(1, (len(chances) - rank) * chances[name]))
        found[name] = adjusted
    return found


def as_seeds(runs):
    """{placement: {seed: [runs, by batch]}}"""
    seeds = {}
    for (placement, _, _), found in runs.items():
        for run in found:
            seeds.setdefault(placement, {}).setdefault(run.seed, []).append(run)
    return {placement: {seed: sorted(of, key=lambda run: run.batch) for seed, of in by_seed.items()}
            for placement, by_seed in seeds.items()}


def all_or_reason(placement, what, by_seed):
    """The numbers of all seeds, or None, and a line for each reason why there is none."""
    reasons = {seed: found for seed, found in by_seed.items() if isinstance(found, str)}
    for seed, reason in reasons.items():
        print(f"{placement}: no {what} with seed {seed}: {reason}")
    return None if reasons else by_seed


def paired(of, base):
    return mean_of([math.log(of[seed] / base[seed]) for seed in sorted(of.keys() & base.keys())])


def steps_over_all(runs):
    """The geometric mean of the steps over all batch sizes, or why there is none."""
    if any(math.isinf(run.steps) for run in runs):
        return "not all batch sizes reached the target"
    return statistics.geometric_mean(run.steps for run in runs)


def report(runs):
    print("placement  batch  rate  reached  median steps")
    for (placement, _, rate), found in sorted(runs.items()):
        reached = sum(not math.isinf(run.steps) for run in found)
        print(f"{placement:9}  {found[0].batch:5}  {rate:6g}  {reached} of {len(found)}  {median_steps(found):.0f}")
    seeds = as_seeds(runs)
    criticals, over_all = {}, {}
    for placement, by_seed in seeds.items():
        slopes = all_or_reason(placement, "slope", {seed: slope(of) for seed, of in by_seed.items()})
        if slopes:
            print("{}: slope of the smallest {}: {:.2f} ({:.2f} … {:.2f})".format(
                placement, SMALLEST, *mean_of(list(slopes.values()))[:3]))
        fits = all_or_reason(placement, "fit", {seed: fit(of) for seed, of in by_seed.items()})
        if fits:
            criticals[placement] = {seed: found.critical for seed, found in fits.items()}
            for name, values in [("least steps", [found.least for found in fits.values()]),
                                 ("critical batch", list(criticals[placement].values()))]:
                print("{}: {} {:.0f} ({:.0f} … {:.0f})".format(
                    placement, name, *map(math.exp, mean_of(numpy.log(values))[:3])))
        over_all[placement] = all_or_reason(
            placement, "mean over batch sizes", {seed: steps_over_all(of) for seed, of in by_seed.items()})
    compare("critical batch", criticals)
    compare("steps over all batch sizes", over_all)


def compare(what, of):
    """With random parts, seed by seed, where there is a number for every seed."""
    ratios = {}
    for placement in list(PLACEMENTS)[1:]:
        if of.get(placement) and of.get("random"):
            ratios[placement] = paired(of[placement], of["random"])
        else:
            print(f"{placement}: {what} cannot be compared with that of random parts")
    corrected = holm({placement: ratio.p for placement, ratio in ratios.items()})
    for placement, ratio in ratios.items():
        print("{}: {} {:.2f} ({:.2f} … {:.2f}), Holm p {:.4f}, times that of random parts".format(
            placement, what, *map(math.exp, ratio[:3]), corrected[placement]))


def write_points(file, runs):
    with open(file, "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["placement", "batch", "rate", "seed", "steps", "ended"])
        for (placement, _, rate), found in sorted(runs.items()):
            for run in found:
                table.writerow([placement, run.batch, rate, run.seed,
                                "" if math.isinf(run.steps) else int(run.steps), run.ended])


def draw(file, runs):
    """Median steps against batch size, and what they were if a double batch took half of them."""
    blocks, first = [], None
    for placement in PLACEMENTS:
        points = sorted((found[0].batch, median_steps(found)) for (p, _, _), found in runs.items() if p == placement)
        points = [(batch, steps) for batch, steps in points if not math.isinf(steps)]
        first = first or (points and points[0])
        blocks.append("\n".join([f"${placement} << E", *(f"{batch} {steps}" for batch, steps in points), "E"]))
    lines = ", ".join(f"${placement} with linespoints linewidth 2 pointtype {5 + 2 * i} title '{placement}'"
                      for i, placement in enumerate(PLACEMENTS))
    script = "\n".join([
        *blocks, "set terminal svg size 760,420 background 'white' font 'sans-serif,14'", "set logscale xy 2",
        f"set output '{file}'", "set xlabel 'examples a step'", "set ylabel 'steps to the target'", "set grid",
        f"plot {lines}, {math.prod(first)} / x with lines dashtype 2 linecolor 'gray' title 'half the steps'", ""])
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--base", type=pathlib.Path, default=HERE / "base.yaml")
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512, 1024, 2048])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    runs = {}
    for stage, points_of in STAGES.items():
        file, results = arguments.folder / f"{stage}.yaml", arguments.folder / f"{stage}.csv"
        runs[stage] = read_runs(results) if results.exists() else {}
        points = points_of(arguments.batches, arguments.rates, runs)
        if not points:
            sys.exit(f"{stage}: there is no point that reached the target")
        file.write_text(study(stage, points, arguments.base, arguments.folder))
        found, wanted = sum(map(len, runs[stage].values())), len(points) * len(SEEDS[stage])
        if found < wanted:
            print(f"{stage}: {found} of {wanted} runs; go on with\n"
                  f"impart study {file} --results {results}")
            return
    write_points(arguments.folder / "points.csv", runs["confirm"])
    draw(arguments.folder / "points.svg", runs["confirm"])
    report(runs["confirm"])


if __name__ == "__main__":
    main()
