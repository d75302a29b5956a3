#!/usr/bin/env python3
"""Runs an hour on this machine, shared processes against processes of their own:

    python3 bench/runs_an_hour.py build/gpu/bin/impart --runs 16 --at-a-time 1 2 4 8 \\
        precision=bf16 checkpoint.every=0 data.root=DIR

Trains presets/dais/cifar10-resnet18-stripes.yaml (--config names another) with other seeds, as a study, once for
each number of runs at a time and once in processes of their own. First it checks the answer: every run of every
study must have the weights of `impart train` with its seed. Prints runs an hour, what a start takes, where the
time of a run went, and how far the phases are from the time on the clock.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

PRESET = pathlib.Path(__file__).resolve().parents[1] / "presets/dais/cifar10-resnet18-stripes.yaml"
PHASES = ["train", "tracking", "partition", "exchange", "refresh", "eval", "checkpoint", "other"]


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())


def run_study(options, folder, name, *flags):
    """Seconds, and the summaries by seed."""
    study = folder / f"{name}.yaml"
    study.write_text(f"name: {name}\nbase: {options.config.resolve()}\n"
                     "arms: {one: {baseline: true}}\n"
                     f"seeds: {list(range(1, options.runs + 1))}\noutput: {folder / name}\n")
    start = time.monotonic()
    subprocess.run([options.impart, "study", study, *options.settings, *flags], check=True,
                   stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    return seconds, {seed: summary_of(folder / name / "runs/one" / str(seed))
                     for seed in range(1, options.runs + 1)}


def train_alone(options, folder, seed):
    output = folder / f"alone-{seed}"
    subprocess.run([options.impart, "train", options.config, *options.settings, f"seed={seed}",
                    f"output={output}"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return summary_of(output)


def report(name, seconds, summaries):
    def mean(key):
        return statistics.mean(summary[key] for summary in summaries.values())
    total = mean("seconds_total")
    phases = sum(mean(f"seconds_{phase}") for phase in PHASES)
    shares = ", ".join(f"{phase} {100 * mean(f'seconds_{phase}') / total:.2f} %" for phase in PHASES)
    print(f"{name}: {3600 * len(summaries) / seconds:.0f} runs an hour ({seconds:.1f} s for "
          f"{len(summaries)}); start {mean('seconds_start'):.2f} s, run {total:.2f} s\n"
          f"    {shares}; phases / clock {phases / total:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("impart")
    parser.add_argument("--config", type=pathlib.Path, default=PRESET)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--at-a-time", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--alone", type=int, default=3, help="seeds that are also trained alone")
    options, options.settings = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        studies = {f"{jobs} at a time": run_study(options, folder, f"jobs{jobs}", "--jobs", str(jobs))
                   for jobs in options.at_a_time}
        jobs = max(options.at_a_time)
        studies[f"{jobs} at a time, processes"] = run_study(options, folder, "processes", "--jobs",
                                                            str(jobs), "--processes")
        hashes = {seed: {summaries[seed]["weights_sha256"] for _, summaries in studies.values()}
                  for seed in range(1, options.runs + 1)}
        for seed in range(1, min(options.alone, options.runs) + 1):
            hashes[seed].add(train_alone(options, folder, seed)["weights_sha256"])
        differing = [seed for seed, found in hashes.items() if len(found) > 1]
        print(f"weights: {len(hashes) - len(differing)} of {len(hashes)} seeds equal everywhere"
              + (f"; seeds {differing} differ" if differing else ""))
        for title, (seconds, summaries) in studies.items():
            report(title, seconds, summaries)
        return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
