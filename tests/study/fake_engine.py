#!/usr/bin/env python3
"""Stands in for the training engine: python3 fake_engine.py train --resume FOLDER threads=N

Leaves a run directory as the engine would, in no time, and one line per call in calls.txt of the
study. What it does besides is said by behaviour.json in the study's folder, by arm or "*":
{"epoch_seconds": 0.01, "fail": "reason", "exit": 3, "signal": 9, "deaf": true, "preempt": true,
"summary": {"visits": 100}}
"""

import json
import os
import pathlib
import signal
import sys
import time
import zlib


def write(path, text):
    """Complete or not at all, as the engine does."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text)
    unfinished.rename(path)


def find_study(folder):
    while not (folder / "study.json").exists():
        folder = folder.parent
    return folder


def main():
    assert sys.argv[1:3] == ["train", "--resume"], sys.argv
    folder = pathlib.Path(sys.argv[3])
    study = find_study(folder)
    record = json.loads((study / "study.json").read_text())
    run = next(r for r in record["runs"] if study / r["folder"] == folder)
    behaviours = json.loads((study.parent / "behaviour.json").read_text())
    behaviour = {**behaviours.get("*", {}), **behaviours.get(run["arm"], {})}

    stop = []
    signal.signal(signal.SIGTERM,
                  signal.SIG_IGN if behaviour.get("deaf") else lambda *_: stop.append(1))
    with open(study / "calls.txt", "a") as calls:
        print(run["folder"], "again" if (folder / "metrics.jsonl").exists() else "new",
              *sys.argv[4:], os.environ.get("OMP_NUM_THREADS"), file=calls)
    assert (folder / "config.yaml").exists()
    for name in ["DONE", "FAILED", "PREEMPTED"]:
        (folder / name).unlink(missing_ok=True)

    metrics = folder / "metrics.jsonl"
    done = metrics.read_text().count("\n") if metrics.exists() else 0
    value = 80 + zlib.crc32(f"{run['arm']} {run['seed']}".encode()) % 1000 / 100
    value += {"good": 20, "bad": -20}.get(run["arm"], 0)
    for epoch in range(done, run["epochs"]):
        end = time.monotonic() + behaviour.get("epoch_seconds", 0)
        while not stop and time.monotonic() < end:
            time.sleep(0.005)
        if stop or behaviour.get("preempt"):
            write(folder / "PREEMPTED", "")
            return 85
        with open(metrics, "a") as file:
            print(json.dumps({"epoch": epoch, "test_accuracy": value}), file=file)
    if "fail" in behaviour:
        print(behaviour["fail"], file=sys.stderr)
        write(folder / "FAILED", behaviour["fail"])
        return 70
    if "exit" in behaviour:
        print("impart: a last\x1b[31m word", file=sys.stderr)
        return behaviour["exit"]
    if "signal" in behaviour:
        os.kill(os.getpid(), behaviour["signal"])
    write(folder / "summary.json", json.dumps({
        "best_accuracy": value, "final_accuracy": value - 1, "epochs": run["epochs"],
        "seed": run["seed"], "seconds_total": 12.5, "config_hash": run["config_hash"],
        **behaviour.get("summary", {})}))
    write(folder / "DONE", "")
    return 0


sys.exit(main())
