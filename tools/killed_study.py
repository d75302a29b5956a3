#!/usr/bin/env python3
"""Kills a study again and again, and compares its runs with those of the study left alone.

    tools/killed_study.py IMPART STUDY [--kills 10] [--jobs 3] [--seed 1] [SETTING=VALUE...]

The study is run twice under a temporary folder: once without a break, and once with a SIGKILL at --kills
moments, spread at random over the seconds that the first one took. All that a run leaves behind but
times must be equal. Ends with 1 if anything differs, or if nothing was left to do after the last kill.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

NO_RESULTS = ("crc32", "load_average",
              "bytes_disk", "bytes_source")  # who goes on reads the data again


def without_times(record):
    return {name: value for name, value in record.items()
            if not name.startswith("seconds") and name not in NO_RESULTS}


def results_of(folder):
    """By run."""
    found = {}
    for path in sorted(folder.glob("runs/**/DONE")):
        run = path.parent
        epochs = [without_times(json.loads(line)) for line in (run / "metrics.jsonl").read_text().splitlines()]
        found[str(run.relative_to(folder))] = (without_times(json.loads((run / "summary.json").read_text())), epochs,
                                               (run / "importance.npy").read_bytes())
    return found


def count_done(folder):
    return sum(1 for _ in folder.glob("runs/**/DONE"))


def start(options, folder):
    return subprocess.Popen([options.impart, "study", options.study, "--jobs", str(options.jobs), *options.settings,
                             f"output={folder}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def run_to_its_end(options, folder):
    begin = time.monotonic()
    study = start(options, folder)
    _, said = study.communicate()
    if study.returncode != 0:
        sys.exit(f"killed_study.py: the study ended with {study.returncode}:\n{said}")
    return time.monotonic() - begin


def kill_again_and_again(options, folder, seconds):
    """After each kill the next start waits for what is left of the one before, so a kill costs time itself."""
    draw = random.Random(options.seed)
    for number in range(1, options.kills + 1):
        study = start(options, folder)
        time.sleep(draw.uniform(0.3, 1.7) * seconds / (options.kills + 1))
        study.kill()
        study.communicate()
        print(f"kill {number}: {count_done(folder)} runs are done", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("impart")
    parser.add_argument("study")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    options, options.settings = parser.parse_known_args()
    if options.kills < 1:
        parser.error("--kills: at least one")
    if not shutil.which(options.impart):
        parser.error(f"{options.impart}: is no program")
    with tempfile.TemporaryDirectory() as name:
        unbroken, broken = pathlib.Path(name) / "unbroken", pathlib.Path(name) / "broken"
        seconds = run_to_its_end(options, unbroken)
        expected = results_of(unbroken)
        print(f"{len(expected)} runs in {seconds:.1f} s", flush=True)
        kill_again_and_again(options, broken, seconds)
        left = len(expected) - count_done(broken)
        run_to_its_end(options, broken)
        found = results_of(broken)
    differing = [run for run in expected if found.get(run) != expected[run]]
    print(f"{len(expected) - len(differing)} of {len(expected)} runs are equal after {options.kills} kills, "
          f"{left} of them done after the last")
    for run in differing:
        print(f"differs: {run}")
    sys.exit(1 if differing or left == 0 else 0)


if __name__ == "__main__":
    main()
