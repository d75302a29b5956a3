"""Starts: who owns what in the first epoch. A partition is a list of owners."""

import math

from partitions import block_edges, random_partition
from philox import Stream

STARTS = ["random", "contiguous", "by-class", "dirichlet"]


def cut(ids, workers):
    edges = block_edges(len(ids), workers)
    owners = [0] * len(ids)
    for worker in range(workers):
        for example in ids[edges[worker] : edges[worker + 1]]:
            owners[example] = worker
    return owners


def log_gamma_variate(shape, stream):
    """Marsaglia and Tsang 2000; below 1 by Gamma(a) = Gamma(a + 1) U^(1/a)."""
    d = (shape if shape >= 1 else shape + 1) - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x, u = stream.normal(), stream.open_uniform()
        v = (1 + c * x) ** 3
        if v > 0 and math.log(u) < x * x / 2 + d - d * v + d * math.log(v):
            break
    boost = 0 if shape >= 1 else math.log(stream.open_uniform()) / shape
    return math.log(d * v) + boost


def dirichlet(parameters, stream):
    logs = [log_gamma_variate(shape, stream) for shape in parameters]
    weights = [math.exp(value - max(logs)) for value in logs]
    return [weight / sum(weights) for weight in weights]


def classes_of(labels, seed):
    """The ids of every class that there is, shuffled."""
    stream = Stream(seed, "start-deal", 0)
    return [stream.shuffle([i for i, label in enumerate(labels) if label == c])
            for c in sorted(set(labels))]


def free_dirichlet(labels, workers, seed, alpha):
    """Largest remainders: Yurochkin et al. 2019."""
    stream = Stream(seed, "start-shares", 0)
    owners = [None] * len(labels)
    for ids in classes_of(labels, seed):
        exact = [share * len(ids) for share in dirichlet([alpha] * workers, stream)]
        counts = [math.floor(x) for x in exact]
        by_rest = sorted(range(workers), key=lambda w: counts[w] - exact[w])
        for worker in by_rest[: len(ids) - sum(counts)]:
            counts[worker] += 1
        dealt = [worker for worker in range(workers) for _ in range(counts[worker])]
        for example, worker in zip(ids, dealt):
            owners[example] = worker
    return owners


def even_dirichlet(labels, workers, seed, alpha):
    """Every worker fills its part by its own mix of classes: Hsu et al. 2019."""
    stream = Stream(seed, "start-shares", 0)
    left = classes_of(labels, seed)
    prior = [alpha * len(ids) / len(labels) for ids in left]
    edges = block_edges(len(labels), workers)
    owners = [None] * len(labels)
    for worker in range(workers):
        mix = dirichlet(prior, stream)
        for _ in range(edges[worker], edges[worker + 1]):
            weights = [share if ids else 0.0 for share, ids in zip(mix, left)]
            if sum(weights) == 0:
                mix = weights = [float(len(ids)) for ids in left]
            at, chosen = stream.uniform() * sum(weights), 0
            while sum(weights[: chosen + 1]) <= at:
                chosen += 1
            owners[left[chosen].pop()] = worker
    return owners


def start(name, labels, workers, seed, alpha, sizes):
    """Owners before anything is known."""
    ids = list(range(len(labels)))
    if name == "random":
        return random_partition(len(labels), workers, seed, 0)
    if name == "contiguous":
        return cut(ids, workers)
    if name == "by-class":
        return cut(sorted(ids, key=lambda i: (labels[i], i)), workers)
    assert name == "dirichlet"
    deal = even_dirichlet if sizes == "even" else free_dirichlet
    return deal(labels, workers, seed, alpha)
