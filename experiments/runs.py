"""What the experiments of this folder share: starting runs under mpirun, reading them, tables."""

import json
import os
import subprocess

# Processes may be more than cores, and whoever starts them may be root in a container.
ANYWHERE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}
# Processes that wait leave their core to others.
SHARING_CORES = {**ANYWHERE, "OMPI_MCA_mpi_yield_when_idle": "1",
                 "OMPI_MCA_hwloc_base_binding_policy": "none"}


def slug(name):
    return "".join(c if c.isalnum() else "-" for c in name.lower())


def train(impart, settings, processes, environment, folder=None):
    """Trains in so many processes, from `folder`, and says how on the terminal."""
    command = [impart, "train", "--overwrite", *(f"{k}={v}" for k, v in settings.items())]
    if processes > 1:
        command = ["mpirun", "-n", processes, *command]
    print("$", *command, flush=True)
    subprocess.run(list(map(str, command)), check=True, env={**os.environ, **environment}, cwd=folder,
                   stdout=subprocess.DEVNULL)


def read_summary(output):
    return json.loads((output / "summary.json").read_text())


def read_lines(output, name):
    """The objects of ledger.jsonl or metrics.jsonl."""
    return [json.loads(line) for line in (output / name).read_text().splitlines()]


def count(ledger, key):
    """Of all workers in all epochs."""
    return sum(worker[key] for line in ledger for worker in line["workers"])


def write_markdown(path, rows):
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    for row in rows:
        cells = [f"{v:.1f}" if isinstance(v, float) else str(v) for v in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    path.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
