"""docs/answers/search.md: every table again from the runs in experiments/search: python3 search_test.py"""

import csv
import statistics
import unittest

from answers import ROOT, Paired, column, read_runs, rows, signed, spread

PAGE = ROOT / "docs/answers/search.md"
HELD_OUT = "experiments/search/cpu.csv"
VALUE = "best_accuracy"
MARGIN = 0.1  # points: "not worse by"
FACTORS = ["partition.heuristic", "importance.notion", "partition.warmup", "partition.interval"]


def rung(epochs):
    """{setting: {seed: run}} of the search."""
    runs = read_runs(HELD_OUT, lambda run: (run["purpose"], run["planned_epochs"], run["arm"]))
    return {arm: of for (purpose, length, arm), of in runs.items() if (purpose, length) == ("search", str(epochs))}


def mean(runs):
    return statistics.mean(column(runs, VALUE))


def best(rung_runs):
    return max(rung_runs, key=lambda arm: mean(rung_runs[arm]))


class Search(unittest.TestCase):
    def test_the_last_rung_has_the_best_third_of_the_first(self):
        first, last = rung(9), rung(27)
        self.assertEqual((len(first), len(last)), (36, 12))
        worst = min(mean(first[arm]) for arm in last)
        self.assertTrue(all(mean(first[arm]) <= worst for arm in first.keys() - last.keys()))
        self.assertTrue(all(len(runs) == 3 for runs in [*first.values(), *last.values()]))

    def test_the_table_of_the_last_rung_is_that_of_the_runs(self):
        first, last = rung(9), rung(27)
        table = rows(PAGE, "| setting | after 9 epochs |")
        self.assertEqual([row[0] for row in table], sorted(last, key=lambda arm: -mean(last[arm])))
        for arm, short, full in table:
            with self.subTest(arm):
                self.assertEqual(short, spread(column(first[arm], VALUE), 2))
                self.assertEqual(full, spread(column(last[arm], VALUE), 2))

    def test_the_table_of_factors_is_that_of_the_first_rung(self):
        first = rung(9)
        seen = set()
        for factor, value, settings, accuracy in rows(PAGE, "| what | value | settings |"):
            with self.subTest(f"{factor} {value}"):
                own = [runs for runs in first.values()
                       if all(run[f"config.{factor}"] == value for run in runs.values())]
                self.assertEqual(int(settings), len(own))
                # Of each seed the mean over settings: what their spread is of.
                means = [statistics.mean(float(runs[seed][VALUE]) for runs in own) for seed in ["1", "2", "3"]]
                self.assertEqual(accuracy, spread(means, 2))
                seen.add(factor)
        self.assertEqual(seen, set(FACTORS))

    def test_settings_are_no_further_apart_than_seeds(self):
        first = rung(9)
        apart = statistics.stdev(map(mean, first.values()))
        seeds = {seed: statistics.mean(float(runs[seed][VALUE]) for runs in first.values()) for seed in ["1", "2", "3"]}
        whole = statistics.mean(seeds.values())
        rests = [float(run[VALUE]) - mean(runs) - seeds[seed] + whole
                 for runs in first.values() for seed, run in runs.items()]
        chance = (sum(rest ** 2 for rest in rests) / (2 * (len(first) - 1)) / 3) ** 0.5
        self.assertIn(f"by {apart:.2f} points", PAGE.read_text())
        self.assertIn(f"by {chance:.2f} (F = {(apart / chance) ** 2:.2f})", PAGE.read_text())

    def test_loss_variance_of_one_visit_is_loss_average(self):
        trained = {tuple(run["weights_sha256"] for run in runs.values()) for runs in rung(9).values()}
        self.assertIn(f"{len(trained)} different ones", PAGE.read_text())

    def test_the_winner_is_held_against_vanilla_on_fresh_seeds(self):
        winner = best(rung(27))
        runs = read_runs(HELD_OUT, lambda run: (run["purpose"], run["arm"]))
        confirmed = {arm: of for (purpose, arm), of in runs.items() if purpose == "confirm"}
        self.assertEqual(set(confirmed), {"vanilla", winner})
        paired = Paired(confirmed[winner], confirmed["vanilla"])
        self.assertEqual(paired.pairs, 30)
        table = {row[0]: row[1:] for row in rows(PAGE, "| fresh seeds | n |")}
        self.assertEqual(set(table), set(confirmed))
        for arm, (n, accuracy, *compared) in table.items():
            with self.subTest(arm):
                self.assertEqual(int(n), len(confirmed[arm]))
                self.assertEqual(accuracy, spread(column(confirmed[arm], VALUE), 2))
                self.assertEqual(compared, ["", "", ""] if arm == "vanilla" else
                                 [signed(paired.mean, 2), paired.interval(2), f"{paired.p:.4f}"])
        self.assertIn(f"p = {paired.not_worse(MARGIN):.3f}", PAGE.read_text())

    def test_no_seed_that_chose_confirms(self):
        with open(ROOT / HELD_OUT, newline="") as file:
            seeds = {(run["purpose"], run["seed"]) for run in csv.DictReader(file)}
        chose = {seed for purpose, seed in seeds if purpose == "search"}
        fresh = {seed for purpose, seed in seeds if purpose == "confirm"}
        self.assertEqual(chose & fresh, set())


if __name__ == "__main__":
    unittest.main()
