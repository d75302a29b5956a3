#!/usr/bin/env python3
"""Compares starts and graded blocks with the partitioners of flwr-datasets, in distribution.

    pip install flwr-datasets
    PYTHONPATH=build/dev/python python3 tools/compare_flwr.py [DRAWS]

Of every draw it takes numbers of one worker; 200 draws of both are compared by a two-sample
Kolmogorov-Smirnov test. Exit code 0: every p is above 0.01; 77: flwr-datasets is not installed.
"""

import sys
from statistics import NormalDist

import numpy as np

import impart

WORKERS, CLASSES, PER_CLASS = 10, 10, 200
LABELS = np.tile(np.arange(CLASSES), PER_CLASS)
SCORES = np.array([NormalDist().inv_cdf((i + 0.5) / 2000) for i in range(2000)])
ALPHAS = (0.1, 1.0, 10.0)
STRENGTHS = (0.0, 0.3, 0.7)


def ks_p(a, b):
    """The p of a two-sample Kolmogorov-Smirnov test, by its limit distribution (Stephens)."""
    points = np.sort(np.concatenate([a, b]))
    shares = [np.searchsorted(np.sort(x), points, side="right") / len(x) for x in (a, b)]
    root = np.sqrt(len(a) * len(b) / (len(a) + len(b)))
    at = (root + 0.12 + 0.11 / root) * np.abs(shares[0] - shares[1]).max()
    if at < 0.2:
        return 1.0
    k = np.arange(1, 101)
    return float(np.clip(2 * np.sum((-1.0) ** (k - 1) * np.exp(-2 * (k * at) ** 2)), 0, 1))


def class_numbers(counts):
    """Of [worker, class] counts: three numbers of one worker, a middle one.

    flwr-datasets rounds cumulated shares down: its first worker has half an example less per class.
    """
    mine = counts[WORKERS // 2]
    return {"share of class 0 that a worker has": mine[0] / PER_CLASS,
            "share of class 0 in a worker's part": mine[0] / max(1, mine.sum()),
            "size of a worker's part": mine.sum() / len(LABELS)}


def counts_of(owners):
    counts = np.zeros((WORKERS, CLASSES))
    np.add.at(counts, (owners, LABELS), 1)
    return counts


def dirichlet_here(alpha, seed):
    return class_numbers(counts_of(impart.start("dirichlet", LABELS, WORKERS, seed, alpha).owners))


def graded_here(strength, seed):
    owners = impart.partition(SCORES, "graded-blocks", WORKERS, seed=seed, strength=strength).owners
    return {"mean score of the first block": SCORES[owners == 0].mean()}


def dirichlet_there(alpha, seed):
    from datasets import Dataset
    from flwr_datasets.partitioner import DirichletPartitioner
    partitioner = DirichletPartitioner(WORKERS, "label", alpha, min_partition_size=0, seed=seed)
    partitioner.dataset = Dataset.from_dict({"label": LABELS})
    parts = [partitioner.load_partition(worker)["label"] for worker in range(WORKERS)]
    return class_numbers(np.array([np.bincount(part, minlength=CLASSES) for part in parts]))


def graded_there(strength, seed):
    from datasets import Dataset
    from flwr_datasets.partitioner import ContinuousPartitioner
    partitioner = ContinuousPartitioner(WORKERS, "score", strength, seed=seed)
    partitioner.dataset = Dataset.from_dict({"score": SCORES})
    # It sorts ascending: its last part is the first here.
    return {"mean score of the first block":
            np.mean(partitioner.load_partition(WORKERS - 1)["score"])}


def compare(here, there, parameter, draws):
    """p by number, of so many draws of both."""
    found = [here(parameter, seed) for seed in range(draws)]
    wanted = [there(parameter, seed) for seed in range(draws)]
    return {name: ks_p(np.array([row[name] for row in found]),
                       np.array([row[name] for row in wanted])) for name in found[0]}


def main(draws):
    try:
        import datasets
        import flwr_datasets  # noqa: F401
    except ImportError:
        print("flwr-datasets is not installed: pip install flwr-datasets")
        return 77
    datasets.disable_progress_bars()
    lowest = 1.0
    for name, parameters, here, there in [
            ("alpha", ALPHAS, dirichlet_here, dirichlet_there),
            ("strength", STRENGTHS, graded_here, graded_there)]:
        for parameter in parameters:
            for number, p in compare(here, there, parameter, draws).items():
                print(f"{name} {parameter:<5} {number:<36} p = {p:.3f}")
                lowest = min(lowest, p)
    return 0 if lowest > 0.01 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
