"""What the tests of docs/answers share: pages with tables and prose, kept runs, paired tests."""

import csv
import functools
import math
import pathlib
import statistics

ROOT = pathlib.Path(__file__).resolve().parents[2]


# Pages.

def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(page, head):
    """The rows of the table whose head begins so, as lists of cells."""
    lines = page.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head))
    table = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        table.append(cells(line))
    return table


def check_claims(test, page, claims):
    """`claims`: pieces of the page with {} for each number, and the numbers, written as they must be."""
    text = " ".join(page.read_text().split())
    for piece, *written in claims:
        with test.subTest(piece):
            test.assertEqual(piece.count("{}"), len(written))
            expected = piece.format(*written)
            test.assertTrue(expected in text, f"{page.name} does not say: {expected}")


def check_corrected(test, written, chances, delta=0.0006):
    """`written`: {name: text of p}, Holm's of these chances."""
    for name, adjusted in holm(chances).items():
        test.assertAlmostEqual(written_p(written[name]), adjusted, delta=delta, msg=str(name))


def check_perplexities(test, table, runs, base, last):
    """Rows of arm, n, perplexity, difference to the base, interval, Holm's p, and `last` of the runs."""
    test.assertEqual({row[0] for row in table}, set(runs))
    chances, written = {}, {}
    for arm, n, perplexity, difference, interval, p, end in table:
        with test.subTest(arm):
            test.assertEqual(int(n), len(runs[arm]))
            test.assertEqual(perplexity, spread(column(runs[arm], "best_perplexity"), 2))
            test.assertEqual(end, last(runs[arm]))
            if arm == base:
                continue
            paired = Paired(runs[arm], runs[base], "best_perplexity")
            test.assertEqual(difference, signed(paired.mean, 2))
            test.assertEqual(interval, paired.interval(2))
            chances[arm], written[arm] = paired.p, p
    check_corrected(test, written, chances)


# Numbers as pages write them.

def signed(number, digits):
    return f"{number:+.{digits}f}".replace("-", "−")


def thousands(number, digits=0):
    return f"{number:,.{digits}f}".replace(",", " ")


def spread(values, digits):
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def written_p(text):
    return 0 if text.startswith("<") else float(text)


# Runs that are kept as CSV files.

def read_table(path):
    with open(ROOT / path, newline="") as file:
        return list(csv.DictReader(file))


def read_runs(path, name=lambda run: run["arm"]):
    """{arm: {seed: run}}"""
    runs = {}
    for run in read_table(path):
        runs.setdefault(name(run), {})[run["seed"]] = run
    return runs


def column(runs, name):
    return [float(run[name]) for run in runs.values()]


def mean_of(runs, name="best_accuracy"):
    return statistics.mean(column(runs, name))


# Student's t, by Simpson's rule.

def beyond(t, degrees, shift=0.0, steps=1000):
    """How likely (Z + shift) / S exceeds t; S² is chi-squared over its degrees of freedom."""
    scale = 2 * (degrees / 2) ** (degrees / 2) / math.gamma(degrees / 2)
    width = (1 + 9 / math.sqrt(degrees)) / steps

    def height(s):
        return (scale * s ** (degrees - 1) * math.exp(-degrees * s * s / 2)
                * 0.5 * math.erfc((t * s - shift) / math.sqrt(2)))
    return width / 3 * sum((4 if i % 2 else 2 if 0 < i < steps else 1) * height(i * width)
                           for i in range(steps + 1))


def bisect(lacks, low, high):
    """Where `lacks` turns from true to false."""
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if lacks(middle) else (low, middle)
    return low


@functools.cache
def quantile_of_t(degrees, tail=0.025):
    return bisect(lambda t: beyond(t, degrees) > tail, 0.0, 100.0)


def power(degrees, shift, arms=1):
    """That a two-sided test at 5 % over all arms sees a difference of so many standard errors."""
    critical = quantile_of_t(degrees, 0.025 / arms)
    return beyond(critical, degrees, shift) + beyond(critical, degrees, -shift)


@functools.cache
def detectable_shift(degrees, arms=1):
    """In standard errors, with a power of 80 %."""
    return bisect(lambda shift: power(degrees, shift, arms) < 0.8, 0.0, 100.0)


class Paired:
    """Differences of the runs of two arms with the same seeds, by Student's t."""

    def __init__(self, runs, base, measure="best_accuracy"):
        differences = [float(run[measure]) - float(base[seed][measure])
                       for seed, run in runs.items() if seed in base]
        self.degrees = len(differences) - 1
        self.error = statistics.stdev(differences) / math.sqrt(len(differences))
        self.pairs = len(differences)
        self.mean = statistics.mean(differences)
        self.half = quantile_of_t(self.degrees) * self.error
        self.p = 2 * beyond(abs(self.mean) / self.error, self.degrees)

    def not_worse(self, margin):
        """p of "worse by the margin"."""
        return beyond((self.mean + margin) / self.error, self.degrees)

    def detectable(self, arms=1):
        """The smallest difference that as many seeds show with a power of 80 %."""
        return detectable_shift(self.degrees, arms) * self.error

    def interval(self, digits):
        return f"{signed(self.mean - self.half, digits)} … {signed(self.mean + self.half, digits)}"

    def text(self, digits):
        return f"{signed(self.mean, digits)} ± {self.half:.{digits}f}"


def holm(chances):
    """By name, corrected."""
    adjusted, found = 0, {}
    for rank, name in enumerate(sorted(chances, key=chances.get)):
        adjusted = max(adjusted, min(1, (len(chances) - rank) * chances[name]))
        found[name] = adjusted
    return found
