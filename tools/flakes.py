#!/usr/bin/env python3
"""Runs tests again and again on a busy machine, and lists which failed or hung.

    tools/flakes.py N [-R REGEX] [--build FOLDER] [-j JOBS] [--hogs K] [--keep FILE]

By default those in which processes, threads, signals or terminals meet (label concurrent); with -R
those whose name matches, whatever their label. They are each other's load: JOBS at a time (default:
three for each core), and beside them K programs (default: one for two cores) that do nothing but
compute. Outputs of each round are left in FOLDER/flakes/. Ends with 1 if anything failed.

With --keep every result is a line of JSON in FILE as soon as its round is over. If FILE is there
already, its rounds count: the next call goes on until there are N.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

LABEL = "concurrent"
RESULT = re.compile(r"Test +#\d+: (\S+) \.*(.*?) +([\d.]+) sec")
KINDS = {"Passed": "passed", "***Timeout": "hung", "***Skipped": "skipped"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=int, metavar="N", help="how often each test is run")
    parser.add_argument("-R", dest="regex", help="tests whose name matches")
    parser.add_argument("--build", default="build/dev", help="build folder")
    parser.add_argument("-j", dest="jobs", type=int, default=3 * os.cpu_count(), help="tests at a time")
    parser.add_argument("--hogs", type=int, default=os.cpu_count() // 2, help="programs beside them")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FILE", help="go on from it, and add to it")
    return parser.parse_args()


def labels_of(test):
    values = [p["value"] for p in test["properties"] if p["name"] == "LABELS"]
    return set(values[0]) if values else set()


def choose_tests(build, regex):
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                           capture_output=True, text=True, check=True).stdout
    tests = json.loads(shown)["tests"]
    if regex:
        return [test["name"] for test in tests if re.search(regex, test["name"])]
    return [test["name"] for test in tests if LABEL in labels_of(test)]


def parse_results(output):
    """(test, "passed", "failed", "hung" or "skipped", seconds) of what ctest printed."""
    for name, verdict, seconds in RESULT.findall(output):
        yield name, KINDS.get(verdict.strip(), "failed"), float(seconds)


def run_round(build, names, jobs, log):
    """All tests once."""
    pattern = "^(" + "|".join(map(re.escape, names)) + ")$"
    done = subprocess.run(["ctest", "--test-dir", build, "-R", pattern, "--output-on-failure",
                           "-j", str(jobs)], capture_output=True, text=True)
    log.write_text(done.stdout + done.stderr)
    return list(parse_results(done.stdout))


def current_commit():
    shown = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return shown.stdout.strip() or None


class Record:
    """The results so far, by test, and the file that keeps them from call to call."""

    def __init__(self, path):
        self.path, self.rounds, self.results = path, 0, collections.defaultdict(list)
        for line in path.read_text().splitlines() if path and path.exists() else []:
            kept = json.loads(line)
            self.rounds = max(self.rounds, kept["round"])
            self.results[kept["test"]].append((kept["verdict"], kept["seconds"]))

    def add_round(self, found):
        """All lines of a round at once: a call that is ended in mid-round leaves none of it."""
        self.rounds += 1
        commit = current_commit()
        lines = []
        for name, kind, seconds in found:
            self.results[name].append((kind, seconds))
            lines.append(json.dumps({"round": self.rounds, "commit": commit, "test": name,
                                     "verdict": kind, "seconds": seconds}) + "\n")
        if self.path:
            with open(self.path, "a") as file:
                file.write("".join(lines))


def print_table(results):
    width = max(map(len, results), default=4)
    print(f"{'test':<{width}}  runs  failed  hung  skipped  median s  longest s")
    for name, runs in sorted(results.items()):
        counts = collections.Counter(kind for kind, _ in runs)
        seconds = [taken for _, taken in runs]
        print(f"{name:<{width}}  {len(runs):4}  {counts['failed']:6}  {counts['hung']:4}  "
              f"{counts['skipped']:7}  {statistics.median(seconds):8.1f}  {max(seconds):9.1f}")


def main():
    args = parse_arguments()
    names = choose_tests(args.build, args.regex)
    if not names:
        sys.exit("flakes.py: no such test")
    logs = pathlib.Path(args.build) / "flakes"
    logs.mkdir(exist_ok=True)
    record = Record(args.keep)
    results = record.results
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.hogs)]
    try:
        while record.rounds < args.rounds:
            log = logs / f"round-{record.rounds + 1}.txt"
            found = run_round(args.build, names, args.jobs, log)
            record.add_round(found)
            for name, kind, seconds in found:
                if kind in ("failed", "hung"):
                    print(f"round {record.rounds}: {name} {kind} after {seconds:.0f} s: {log}",
                          flush=True)
            print(f"round {record.rounds} of {args.rounds} done", flush=True)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    print_table(results)
    bad = sum(kind in ("failed", "hung") for runs in results.values() for kind, _ in runs)
    missing = [name for name in names if len(results[name]) < args.rounds]
    for name in missing:
        print(f"{name}: has no result in some round")
    print(f"{sum(map(len, results.values()))} runs of {len(names)} tests, {bad} failed or hung")
    sys.exit(1 if bad or missing else 0)


if __name__ == "__main__":
    main()
