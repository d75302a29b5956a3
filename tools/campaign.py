#!/usr/bin/env python3
"""Attacks runs, stores, studies and downloads again and again, each time at other moments.

    tools/campaign.py --hours 8 [ATTACK…] [--build FOLDER] [--tries N] [--seed S]

One attack after the other (all, if none is named; --list names them), in rounds, until the time is
over; the first round is always finished. Each is a test of this repository with another seed. What
failed is kept in FOLDER/campaign/, with the command that repeats it. Ctrl-C ends with the table of
what was done. Ends with 1 if anything failed.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


@dataclasses.dataclass
class Attack:
    name: str
    summary: str
    script: str
    program: str  # of bin/
    classes: tuple = ()  # of the script; all, if there are none
    tries: tuple = ("", 1)  # the variable that says how many, and how many a call makes
    counted: str = ""  # how a try shows in what the test prints: a number, or a line each


ATTACKS = [
    Attack("kills", "a run is killed at any moment and resumed", "tests/train/resume_test.py", "impart",
           ("KillTest", "KillOthersTest"), ("IMPART_KILLS", 10), r"killed (\d+) times"),
    Attack("job-kills", "a job with a partitioned store is killed and resumed",
           "tests/train/store_test.py", "impart", ("KilledJobTest",), ("IMPART_FAULTS", 5)),
    Attack("language-kills", "a language model's run is killed and resumed",
           "tests/train/language_test.py", "impart", ("SameRunTest.test_killed_and_resumed",),
           ("IMPART_KILLS", 5)),
    Attack("selection-kills", "runs of every selection are killed and resumed",
           "tests/train/selection_test.py", "impart",
           tuple(f"{part}InterruptedTest" for part in ("", "Second", "Third", "Fourth")),
           ("IMPART_KILLS", 5), r"killed (\d+) times"),
    Attack("local-kills", "runs of workers that train apart are stopped, killed and resumed",
           "tests/train/local_test.py", "impart", ("KillTest",), ("IMPART_KILLS", 5)),
    Attack("study-kills", "a study is killed and goes on", "tests/study/kill_test.py", "impart"),
    Attack("exchanges", "processes of an exchange are killed, stopped, or find no room",
           "tests/store/fault_test.py", "store_job", (), ("IMPART_FAULTS", 50), r"(\d+) schedules"),
    Attack("damage", "files of a checkpoint are damaged", "tests/train/resume_test.py", "impart",
           ("DamageTest",), ("", 1), r"(?m)^damaged "),
    Attack("output", "output cannot be written", "tests/train/bad_input_test.py", "impart",
           ("OutputTest",)),
    Attack("downloads", "servers fail while data sets are fetched", "tests/data/fetch/fault_test.py",
           "impart"),
    Attack("stops", "processes of a job are stopped, slowed, or cut off",
           "tests/comm/liveness_test.py", "failing_job", (), ("IMPART_STOPS", 5),
           r"(?m)^(?:stopped|slowed|cut)\b"),
]


@dataclasses.dataclass
class Tally:
    calls: int = 0
    tries: int = 0
    failed: int = 0
    seconds: float = 0


def count_tries(attack, asked, output):
    """From what the test prints, where it does; else as many as were asked for."""
    if not attack.counted:
        return asked
    found = re.findall(attack.counted, output)
    return sum(map(int, found)) if found and found[0].isdigit() else len(found)


def run_attack(attack, options, seed, tally):
    variable, usual = attack.tries
    asked = (options.tries or usual) if variable else 1
    added = {"IMPART_TEST_SEED": str(seed), **({variable: str(asked)} if variable else {})}
    command = ["/usr/bin/python3", ROOT / attack.script, options.build / "bin" / attack.program,
               *attack.classes]
    started = time.monotonic()
    done = subprocess.run(command, env={**os.environ, **MPI, **added}, cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                          check=False)
    tally.seconds += time.monotonic() - started
    tally.calls += 1
    tally.tries += count_tries(attack, asked, done.stdout)
    if done.returncode == 0:
        return
    tally.failed += 1
    log = options.build / "campaign" / f"{attack.name}-{seed}.txt"
    log.parent.mkdir(exist_ok=True)
    again = " ".join([*(f"{name}={value}" for name, value in added.items()), *map(str, command)])
    log.write_text(f"{again}\n\n{done.stdout}")
    print(f"{attack.name}: failed with seed {seed}: {log}", flush=True)


def run_rounds(attacks, options, tallies):
    end = time.monotonic() + 3600 * options.hours
    seed = options.seed
    while True:
        for attack in attacks:
            if seed > options.seed and time.monotonic() >= end:
                return
            run_attack(attack, options, seed, tallies[attack.name])
        seed += 1


def print_table(tallies):
    print(f"{'attack':<16} {'calls':>6} {'tries':>8} {'failed':>7} {'minutes':>8}")
    for name, tally in tallies.items():
        print(f"{name:<16} {tally.calls:>6} {tally.tries:>8} {tally.failed:>7} "
              f"{tally.seconds / 60:>8.1f}")
    print(f"{sum(t.tries for t in tallies.values())} tries, "
          f"{sum(t.failed for t in tallies.values())} failed calls")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK")
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev")
    parser.add_argument("--tries", type=int, help="of each call, where an attack has a number")
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--list", action="store_true", help="name the attacks and end")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.list:
        for attack in ATTACKS:
            print(f"{attack.name:<16} {attack.summary}")
        return
    unknown = set(options.attacks) - {attack.name for attack in ATTACKS}
    if unknown:
        sys.exit(f"campaign.py: no attack {', '.join(sorted(unknown))}; see --list")
    attacks = [a for a in ATTACKS if not options.attacks or a.name in options.attacks]
    missing = {a.program for a in attacks if not (options.build / "bin" / a.program).exists()}
    if missing:
        sys.exit(f"campaign.py: {options.build}/bin has no {', '.join(sorted(missing))}; "
                 "build the tests first: cmake --workflow --preset dev")
    tallies = {attack.name: Tally() for attack in attacks}
    try:
        run_rounds(attacks, options, tallies)
    except KeyboardInterrupt:
        print("stopped")
    print_table(tallies)
    sys.exit(any(tally.failed for tally in tallies.values()))


if __name__ == "__main__":
    main()
