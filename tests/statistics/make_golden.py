#!/usr/bin/env python3
"""Writes what numpy and scipy find, for the C++ tests to compare with: make_golden.py OUT.json

What depends on random draws is computed from the definition of the streams (tests/oracle/philox.py).
Without scipy the file holds the reason, and the tests that need it are skipped.
"""

import itertools
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))

try:
    import numpy as np
    from scipy import optimize, stats
except ImportError as error:
    WHY_NOT = str(error)
else:
    WHY_NOT = ""

from philox import Stream


def samples(rng, sizes, ties=True):
    """Normal, skewed, and coarse samples with ties and zeros (all sums exact)."""
    for n in sizes:
        yield rng.normal(0.3, 1, n)
        yield rng.exponential(1, n) - 0.7
        if ties:
            yield rng.integers(-3, 5, n) / 8


def describe_cases(rng):
    for values in samples(rng, [2, 3, 4, 5, 10, 31]):
        values = values * 5 + 90
        lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75])
        yield {"values": values.tolist(), "mean": np.mean(values), "std": np.std(values, ddof=1),
               "min": np.min(values), "lower_quartile": lower, "median": median,
               "upper_quartile": upper, "max": np.max(values)}


def bca(values, resamples, seed, confidence):
    stream = Stream(seed, "bootstrap", 0)
    n = len(values)
    means = np.array([np.mean(values[[stream.below(n) for _ in range(n)]])
                      for _ in range(resamples)])
    mean = np.mean(values)
    equal = np.abs(means - mean) < 1e-10
    bias = stats.norm.ppf((np.sum((means < mean) & ~equal) + np.sum(equal) / 2) / resamples)
    without = np.array([np.mean(np.delete(values, i)) for i in range(n)])
    shift = np.mean(without) - without
    a = np.sum(shift**3) / (6 * np.sum(shift**2) ** 1.5)
    z = bias + stats.norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
    return np.quantile(means, stats.norm.cdf(bias + z / (1 - a * z)))


def bca_cases(rng):
    for seed, values in enumerate(samples(rng, [3, 10, 25])):
        confidence = [0.95, 0.9, 0.99][seed % 3]
        low, high = bca(values, 1000, seed, confidence)
        yield {"values": values.tolist(), "resamples": 1000, "seed": seed,
               "confidence": confidence, "low": low, "high": high}


def sign_flip_cases(rng):
    for values in samples(rng, [1, 2, 5, 8, 12]):
        # scipy cannot flip a single value.
        p = 1.0 if len(values) == 1 else stats.permutation_test(
            (values,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
        yield {"values": values.tolist(), "p": p}


def random_flip_cases(rng):
    for seed, values in enumerate(samples(rng, [33, 64, 70])):
        stream = Stream(seed, "sign-flip", 0)
        as_far = 0
        for _ in range(500):
            words = [stream.next32() for _ in range(-(-len(values) // 32))]
            signs = [1 if words[i // 32] >> i % 32 & 1 else -1 for i in range(len(values))]
            as_far += abs(np.dot(signs, np.abs(values))) >= abs(np.sum(values)) - 1e-9
        yield {"values": values.tolist(), "flips": 500, "seed": seed, "p": (as_far + 1) / 501}


def exact_wilcoxon(values):
    """All sign patterns of the midranks, one by one."""
    values = values[values != 0]
    ranks = stats.rankdata(np.abs(values))
    statistic = min(np.sum(ranks[values > 0]), np.sum(ranks[values < 0]))
    sums = [np.dot(signs, ranks) for signs in itertools.product((0, 1), repeat=len(ranks))]
    return statistic, min(1.0, 2 * np.mean(np.array(sums) <= statistic))


def wilcoxon_cases(rng):
    for values in samples(rng, [2, 5, 10, 25, 45], ties=False):
        test = stats.wilcoxon(values, method="exact")
        yield {"values": values.tolist(), "exact": True, "statistic": test.statistic,
               "p": test.pvalue}
    for n in (4, 7, 11):
        values = rng.integers(-3, 5, n) / 8
        values[0] = 0.25
        statistic, p = exact_wilcoxon(values)
        yield {"values": values.tolist(), "exact": True, "statistic": statistic, "p": p}
    for values in samples(rng, [12, 60, 200]):
        test = stats.wilcoxon(values, method="approx", correction=True)
        yield {"values": values.tolist(), "exact": False, "statistic": test.statistic,
               "p": test.pvalue}


def student_cases(rng):
    for values in samples(rng, [2, 3, 10, 50]):
        test = stats.ttest_1samp(values, 0)
        low, high = test.confidence_interval(0.9)
        yield {"values": values.tolist(), "t": test.statistic, "p": test.pvalue,
               "confidence": 0.9, "low": low, "high": high}


def welch_cases(rng):
    for n_a, n_b in [(2, 2), (3, 10), (10, 10), (40, 7)]:
        for a, b in zip(samples(rng, [n_a]), samples(rng, [n_b])):
            b = 3 * b + 0.5
            test = stats.ttest_ind(a, b, equal_var=False)
            v_a, v_b = np.var(a, ddof=1) / n_a, np.var(b, ddof=1) / n_b
            degrees = (v_a + v_b) ** 2 / (v_a**2 / (n_a - 1) + v_b**2 / (n_b - 1))
            half = stats.t.ppf(0.975, degrees) * np.sqrt(v_a + v_b)
            difference = np.mean(a) - np.mean(b)
            yield {"a": a.tolist(), "b": b.tolist(), "t": test.statistic, "degrees": degrees,
                   "p": test.pvalue, "low": difference - half, "high": difference + half}


def holm_cases(rng):
    for m in (1, 2, 5, 36):
        p = np.round(rng.beta(0.3, 3, m), 3)
        # From the definition of the closed test: the largest product of those not larger.
        adjusted = [min(1.0, max(q * np.sum(p >= q) for q in p[p <= one])) for one in p]
        yield {"p": p.tolist(), "adjusted": adjusted}


NODES, WEIGHTS = ([], []) if WHY_NOT else np.polynomial.legendre.leggauss(100)


def power_of(shift, degrees, alpha):
    """Chance that |Z + shift| / sqrt(V / degrees) is beyond the critical t, integrated over Z."""
    critical = stats.t.isf(alpha / 2, degrees)
    middle = max(-shift, -9.0)  # there the integrand may have a kink
    total = 0.0
    for low, high in ((-9.0, middle), (middle, 9.0)):
        z = (high - low) / 2 * NODES + (high + low) / 2
        seen = stats.chi2.cdf(degrees * ((z + shift) / critical) ** 2, degrees)
        total += (high - low) / 2 * np.sum(WEIGHTS * stats.norm.pdf(z) * seen)
    return total


def power_cases(rng):
    for n, std, arms, power in [(2, 1, 1, 0.8), (2, 1, 180, 0.8), (3, 0.4, 4, 0.8), (5, 2, 1, 0.9),
                                (10, 0.31, 36, 0.8), (10, 1, 180, 0.5), (100, 7, 3, 0.95)]:
        alpha = 0.05 / arms
        high = 1.0
        while power_of(high, n - 1, alpha) < power:
            high *= 2
        shift = optimize.brentq(lambda s: power_of(s, n - 1, alpha) - power, high / 2, high)
        effect = rng.uniform(0.4, 1.5)
        needed = 2
        while power_of(effect * needed**0.5, needed - 1, alpha) < power:
            needed += 1
        yield {"n": n, "std": std, "arms": arms, "power": power,
               "detectable": shift * std / n**0.5, "effect": effect,
               "power_of_effect": power_of(effect * n**0.5, n - 1, alpha), "needed": needed}


def pairing_cases(rng):
    for n in (2, 3, 10, 50):
        shared = rng.normal(90, 1, n)
        arm, baseline = shared + rng.normal(0.3, 0.4, n), shared + rng.normal(0, 0.2, n)
        variance = np.var(arm, ddof=1) + np.var(baseline, ddof=1)
        yield {"arm": arm.tolist(), "baseline": baseline.tolist(),
               "correlation": np.corrcoef(arm, baseline)[0, 1],
               "removed": 1 - np.var(arm - baseline, ddof=1) / variance}


def variance_share_cases(rng):
    for n_part, n_whole in [(2, 2), (3, 10), (10, 10), (40, 7)]:
        part, whole = rng.normal(0, 0.5, n_part), rng.normal(0, 1, n_whole)
        share = np.var(part, ddof=1) / np.var(whole, ddof=1)
        low, high = share / stats.f.ppf([0.975, 0.025], n_part - 1, n_whole - 1)
        yield {"part": part.tolist(), "whole": whole.tolist(), "share": share, "low": low, "high": high}


def spearman_cases(rng):
    for n in (3, 10, 500):
        for a in samples(rng, [n]):
            for b in (rng.normal(size=n), np.round(a + rng.normal(size=n))):
                test = stats.spearmanr(a, b)
                if np.isfinite(test.statistic):
                    yield {"a": a.tolist(), "b": b.tolist(), "rho": test.statistic,
                           "p": test.pvalue}


def main(path):
    if WHY_NOT:
        pathlib.Path(path).write_text(json.dumps({"skipped": WHY_NOT}))
        return
    sections = {"describe": describe_cases, "bca": bca_cases, "sign_flip": sign_flip_cases,
                "random_flips": random_flip_cases, "wilcoxon": wilcoxon_cases,
                "student": student_cases, "welch": welch_cases, "holm": holm_cases,
                "power": power_cases, "spearman": spearman_cases, "pairing": pairing_cases,
                "variance_share": variance_share_cases}
    golden = {name: list(make(np.random.default_rng(number)))
              for number, (name, make) in enumerate(sections.items())}
    pathlib.Path(path).write_text(json.dumps(golden, default=float, allow_nan=False))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_golden.py OUT.json")
    main(sys.argv[1])
