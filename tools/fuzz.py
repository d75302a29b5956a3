#!/usr/bin/env python3
"""Tries inputs that nobody wrote on every reader of files, by libFuzzer (tests/fuzz/).

    tools/fuzz.py --seconds 60              all targets, a minute of two cores in all
    tools/fuzz.py --seconds 600 npy photo   these, ten minutes

Inputs that reach something new stay in build/asan/fuzz/corpus/, and the next call starts from them. One
that crashes a reader, takes over 10 s or over 1 GB is kept in build/asan/fuzz/found/:

    build/asan/bin/impart_fuzz --target=npy build/asan/fuzz/found/npy-crash-…
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "asan"
PROGRAM = BUILD / "bin" / "impart_fuzz"
FUZZ = BUILD / "fuzz"  # its inputs
LIMITS = ["-rss_limit_mb=1024", "-timeout=10"]


@dataclasses.dataclass
class Outcome:
    target: str
    inputs: int = 0
    megabytes: int = 0
    found: tuple = ()  # names of files, each "TARGET-crash-…", "-timeout-…", "-oom-…" or "-leak-…"
    failed: bool = False  # it ended in another way than by its time

    def count(self, *kinds):
        return sum(any(f"-{kind}-" in name for kind in kinds) for name in self.found)


def build():
    done = subprocess.run(["cmake", "--workflow", "--preset", "fuzz"], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}{done.stderr[-2000:]}\nfuzz.py: cannot build; it needs clang "
                 "and its run-time library (packages clang and libclang-rt-14-dev)")


def lengths():
    """The targets, and the longest input of each."""
    listed = subprocess.run([PROGRAM, "--list"], check=True, capture_output=True, text=True).stdout
    return {name: int(length) for name, length in (line.split() for line in listed.splitlines())}


def statistic(log, name):
    found = re.search(rf"stat::{name}: +(\d+)", log)
    return int(found[1]) if found else 0


def run(target, *arguments):
    return subprocess.run([PROGRAM, f"--target={target}", *arguments, *LIMITS], text=True,
                          capture_output=True, errors="replace", check=False)


def finds(target, folder):
    """Not those of targets whose names begin the same."""
    name = re.compile(rf"{target}-(crash|leak|oom|timeout)-[0-9a-f]+")
    return {path for path in folder.iterdir() if name.fullmatch(path.name)}


def happens_again(target, path):
    """A hang is measured by the clock on the wall, and a machine may stand still: not so a crash."""
    return "-timeout-" not in path.name or run(target, path).returncode != 0


def fuzz(target, length, seconds, seed, folder):
    """Runs one target until its time is over, or until it has found something."""
    outcome, end = Outcome(target), time.monotonic() + seconds
    while not outcome.failed and (left := round(end - time.monotonic())) > 0:
        before = finds(target, folder)
        done = run(target, FUZZ / "corpus" / target, f"-max_total_time={left}", f"-seed={seed}",
                   f"-max_len={length}", "-print_final_stats=1",
                   f"-artifact_prefix={folder}/{target}-")
        outcome.inputs += statistic(done.stderr, "number_of_executed_units")
        outcome.megabytes = max(outcome.megabytes, statistic(done.stderr, "peak_rss_mb"))
        new = finds(target, folder) - before
        real = [path for path in new if happens_again(target, path)]
        outcome.found += tuple(path.name for path in real)
        outcome.failed = done.returncode != 0 and (bool(real) or not new)
        if outcome.failed:
            (folder / f"{target}.log").write_text(done.stderr)
    return outcome


def print_table(outcomes):
    print(f"{'target':<18} {'inputs':>12} {'crashes':>8} {'hangs':>6} {'> 1 GB':>7} {'MB':>6}")
    rows = [*outcomes, Outcome("all", sum(one.inputs for one in outcomes),
                               max(one.megabytes for one in outcomes),
                               sum((one.found for one in outcomes), ()))]
    for one in rows:
        print(f"{one.target:<18} {one.inputs:>12,} {one.count('crash', 'leak'):>8} "
              f"{one.count('timeout'):>6} {one.count('oom'):>7} {one.megabytes:>6}")
    for one in outcomes:
        for name in one.found:
            print(f"found: {FUZZ / 'found' / name}")
        if one.failed and not one.found:
            print(f"failed: {FUZZ / 'found' / one.target}.log")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="in all (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="of the draws; 0 (default): another every time")
    parser.add_argument("--jobs", type=int, default=2, help="at once (default 2)")
    options = parser.parse_args()
    build()
    known = lengths()
    unknown = [name for name in options.targets if name not in known]
    if unknown:
        sys.exit(f"fuzz.py: no target {', '.join(unknown)}; there are {', '.join(known)}")
    subprocess.run([PROGRAM, f"--write-seeds={FUZZ / 'corpus'}"], check=True)
    folder = FUZZ / "found"
    folder.mkdir(exist_ok=True)
    targets = options.targets or list(known)
    seconds = max(1, options.seconds * options.jobs // len(targets))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda name: fuzz(name, known[name], seconds, options.seed, folder), targets))
    print_table(outcomes)
    sys.exit(any(one.failed for one in outcomes))


if __name__ == "__main__":
    main()
