"""What experiments/batch-size/stages.py makes of runs whose curve is known, and of runs that never came there; and
docs/answers/batch_size.md, every table again from the runs: python3 batch_size_test.py"""

import contextlib
import csv
import io
import math
import random
import statistics
import sys
import unittest

from answers import ROOT, Paired, holm, quantile_of_t, rows, written_p

sys.path.insert(0, str(ROOT / "experiments" / "batch-size"))

import stages  # noqa: E402

WORKERS, EXAMPLES = 4, 4096
BATCHES = [32, 64, 128, 256, 512, 1024]


def run(seed, batch, steps, epochs):
    """One that ends at the target, or after so many epochs."""
    ended = epochs * math.ceil(EXAMPLES / batch)
    return stages.Run(seed, batch, steps if steps <= ended else math.inf, ended)


def on_curve(least, critical, epochs=1000, seed=11):
    return [run(seed, batch, least * (1 + critical / batch), epochs) for batch in BATCHES]


def said(runs):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        stages.report(runs)
    return out.getvalue()


def confirmed(criticals, epochs=1000):
    """Five seeds of each placement, whose critical batches are up to three percent apart."""
    def of(placement, critical, seed):
        return critical * random.Random(f"{placement} {seed}").uniform(0.985, 1.015)
    return {(placement, batch // WORKERS, 0.1):
            [run(seed, batch, 100 * (1 + of(placement, critical, seed) / batch), epochs)
             for seed in stages.SEEDS["confirm"]] for placement, critical in criticals.items() for batch in BATCHES}


class Stages(unittest.TestCase):
    def test_a_curve_is_found_again(self):
        found = stages.fit(on_curve(100, 200))
        self.assertAlmostEqual(found.least, 100, delta=0.1)
        self.assertAlmostEqual(found.critical, 200, delta=0.2)

    def test_a_run_that_missed_the_target_keeps_its_curve_above_where_it_ended(self):
        runs = on_curve(100, 200)
        late = runs[:-1] + [runs[-1]._replace(steps=math.inf, ended=400)]
        self.assertGreater(stages.fit(late).least, 110)
        soon = runs[:-1] + [runs[-1]._replace(steps=math.inf, ended=50)]
        self.assertAlmostEqual(stages.fit(soon).critical, stages.fit(runs[:-1]).critical, delta=1)

    def test_a_critical_batch_size_beyond_all_batches_is_not_a_number(self):
        self.assertIn("above", stages.fit(on_curve(10, 5000)))
        self.assertIn("below", stages.fit(on_curve(100, 5)))

    def test_two_batch_sizes_are_no_curve(self):
        runs = on_curve(100, 200)
        missed = [one._replace(steps=math.inf) for one in runs[2:]]
        self.assertIn("fewer than 3", stages.fit(runs[:2] + missed))

    def test_the_slope_needs_all_of_the_smallest(self):
        runs = on_curve(1, 1e9, epochs=10**9)
        self.assertAlmostEqual(stages.slope(runs), -1, delta=1e-5)
        self.assertIsInstance(stages.slope([runs[0]._replace(steps=math.inf)] + runs[1:]), str)

    def test_a_rate_that_mostly_missed_is_not_the_best(self):
        half = [run(2, 32, 500, 10), run(3, 32, 10**6, 10)]
        whole = [run(2, 32, 900, 10), run(3, 32, 900, 10)]
        runs = {("random", 8, 0.1): whole, ("random", 8, 0.2): half}
        self.assertEqual(stages.best_rate(runs, "random", 8), (0.1, -1))
        self.assertEqual(stages.best_rate({("random", 8, 0.2): half}, "random", 8)[0], None)

    def test_a_best_rate_at_the_edge_is_followed_and_named(self):
        tuned = {("random", 8, rate): [run(1, 32, steps, 10)] for rate, steps in [(0.1, 900), (0.2, 800)]}
        tried = {("blocks", 8, rate): [run(2, 32, steps, 10)] for rate, steps in [(0.1, 900), (0.2, 800), (0.4, 700)]}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            points = stages.narrow([8], [], {"tune": tuned, "narrow": tried})
        self.assertIn("0.2 is the best rate of tune and at its edge", out.getvalue())
        self.assertIn(("blocks", 8, 0.8), points)
        self.assertNotIn(("random", 8, 0.8), points)

    def test_a_shifted_critical_batch_size_is_seen(self):
        text = said(confirmed({"random": 200, "stripes": 200, "blocks": 260}))
        self.assertRegex(text, r"stripes: critical batch (0.99|1.0\d) \(0.9\d … 1.0\d\), Holm p [01].[0-9]")
        self.assertRegex(text, r"blocks: critical batch 1.(29|3\d) \(1.2\d … 1.3\d\), Holm p 0.00")

    def test_what_cannot_be_fitted_is_said_with_its_reason(self):
        text = said(confirmed({"random": 200, "stripes": 200, "blocks": 5000}))
        self.assertIn("blocks: no fit with seed 11: critical batch above all batch sizes", text)
        self.assertIn("blocks: critical batch cannot be compared", text)


def interval(mean, half, digits=2, of=lambda value: value):
    """As the page writes it, of a mean of logarithms with of=math.exp."""
    return f"{of(mean):.{digits}f} ({of(mean - half):.{digits}f} … {of(mean + half):.{digits}f})".replace("-", "−")


def written_steps(steps, digits=0):
    return f"{steps:.{digits}f}" if math.isfinite(steps) else "∞"


def slope_of(points):
    """In logarithms, of (batch, steps)."""
    return statistics.linear_regression(*zip(*((math.log(batch), math.log(steps)) for batch, steps in points))).slope


def half_width(values):
    return quantile_of_t(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def lowest(of, low, high):
    """Where a function with one valley is lowest."""
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if of(left) < of(right) else (left, high)
    return low


def least_squares(runs):
    """log least steps and log critical batch of {batch: (steps, or None, ended)}: who missed is later than that."""
    def error(least, critical):
        total = 0
        for batch, (steps, ended) in runs.items():
            above = math.log(steps or ended) - least - math.log1p(math.exp(critical) / batch)
            total += above ** 2 if steps or above > 0 else 0
        return total

    def least_at(critical):
        return lowest(lambda least: error(least, critical), 0, 12)
    critical = lowest(lambda critical: error(least_at(critical), critical), 2, 12)
    return least_at(critical), critical


class BatchSize(unittest.TestCase):
    """Steps to the target against batch size, and what placements change of it."""

    PAGE = ROOT / "docs/answers/batch_size.md"
    SENTENCES = 8000

    def setUp(self):
        self.rates, self.runs = {}, {}
        with open(ROOT / "experiments/batch-size/cpu/points.csv", newline="") as file:
            for run in csv.DictReader(file):
                self.rates[run["placement"], int(run["batch"])] = float(run["rate"])
                self.runs.setdefault(run["placement"], {}).setdefault(run["seed"], {})[int(run["batch"])] = (
                    int(run["steps"]) if run["steps"] else None, int(run["ended"]))

    def seeds_of(self, placement, batch):
        """Steps, those that missed the target last."""
        return sorted(runs[batch][0] or math.inf for runs in self.runs[placement].values())

    def test_the_table_of_steps_is_that_of_the_runs(self):
        table = rows(self.PAGE, "| examples a step | placement |")
        self.assertEqual({(row[1], int(row[0].replace(" ", ""))) for row in table}, set(self.rates))
        for batch, placement, rate, reached, median, ends, epochs in table:
            with self.subTest(f"{placement} {batch}"):
                number = int(batch.replace(" ", ""))
                own = self.seeds_of(placement, number)
                self.assertEqual(float(rate), self.rates[placement, number])
                self.assertEqual(reached, f"{sum(map(math.isfinite, own))} of {len(own)}")
                self.assertEqual((median, ends), (written_steps(statistics.median(own)), f"{own[0]} … {written_steps(own[-1])}"))
                self.assertEqual(epochs, written_steps(statistics.median(own) / math.ceil(self.SENTENCES / number), 1))

    def test_slopes_doublings_and_fits_are_those_of_the_runs(self):
        smallest, largest = min(batch for _, batch in self.rates), max(batch for _, batch in self.rates)
        for placement, n, slope, last_but_one, last, fits in rows(self.PAGE, "| placement | n | slope from 32 to 128 |"):
            with self.subTest(placement):
                by_seed = self.runs[placement]
                self.assertEqual(int(n), len(by_seed))
                slopes = [slope_of([(batch, runs[batch][0]) for batch in sorted(runs)[:3]]) for runs in by_seed.values()]
                self.assertEqual(slope, interval(statistics.mean(slopes), half_width(slopes)))
                for text, batch in [(last_but_one, largest // 2), (last, largest)]:
                    ratios = [math.log(runs[batch][0] / runs[batch // 2][0]) for runs in by_seed.values()]
                    self.assertEqual(text, interval(statistics.mean(ratios), half_width(ratios), 2, math.exp))
                criticals = [math.exp(least_squares(runs)[1]) for runs in by_seed.values()]
                self.assertEqual(fits, f"{sum(smallest <= found <= largest for found in criticals)} of {n}")

    def test_slopes_of_all_ten_seeds_and_who_missed_are_as_the_page_says(self):
        found, missed = {}, []
        for file in ["confirm", "further"]:
            for (placement, *_), runs in stages.read_runs(ROOT / f"experiments/batch-size/cpu/{file}.csv").items():
                for run in runs:
                    found.setdefault(placement, {}).setdefault(run.seed, []).append((run.batch, run.steps))
                    if math.isinf(run.steps):
                        missed.append((file, placement, run.batch))
        self.assertEqual(missed, [("further", "random", 256)] * 2)
        page = self.PAGE.read_text()
        for placement, by_seed in found.items():
            slopes = [slope_of(sorted(points)[:3]) for points in by_seed.values()]
            self.assertEqual(len(slopes), 10)
            self.assertIn(interval(statistics.mean(slopes), half_width(slopes)), page, placement)

    def test_steps_over_all_batch_sizes_are_held_against_random_parts(self):
        over_all = {placement: {seed: {"log": statistics.mean(math.log(steps) for steps, _ in runs.values())}
                                for seed, runs in by_seed.items()} for placement, by_seed in self.runs.items()}
        table = {row[0]: row[1:] for row in rows(self.PAGE, "| placement | steps, times those of random parts |")}
        pairs = {placement: Paired(over_all[placement], over_all["random"], "log") for placement in table}
        self.assertEqual(set(pairs), {"stripes", "blocks"})
        corrected = holm({placement: paired.p for placement, paired in pairs.items()})
        for placement, (ratio, p) in table.items():
            with self.subTest(placement):
                self.assertEqual(ratio, interval(pairs[placement].mean, pairs[placement].half, 2, math.exp))
                self.assertAlmostEqual(written_p(p), corrected[placement], delta=0.0006)


if __name__ == "__main__":
    unittest.main()
