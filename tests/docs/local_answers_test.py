"""Question 7: tables and prose of docs/answers/local.md are those of the runs kept in git:
python3 local_answers_test.py"""

import unittest

from answers import (ROOT, Paired, check_claims, check_corrected, check_perplexities, column, mean_of, read_runs, read_table,
                     rows, signed, spread)

PAGE = ROOT / "docs/answers/local.md"


def written(runs):
    """Mean and deviation, with n where it is not three."""
    accuracies = column(runs, "best_accuracy")
    text = f"{accuracies[0]:.2f}" if len(runs) == 1 else spread(accuracies, 2) if runs else ""
    return text + (f" (n {len(runs)})" if len(runs) in (1, 2) else "")


class Placement(unittest.TestCase):
    """Where local updates make placement matter, with batch norm and with group norm."""

    SYNCS = ["step", "10", "50", "epoch"]

    @staticmethod
    def cell_of(run):
        place = run["config.partition.heuristic"]
        if run["config.partition.start"] == "by-class":
            place = "by-class"
        if run["config.exchange.strategy"] == "is-pair":
            place += ", is-pair 0.1"
        if run["arm"].startswith("vanilla"):
            place = "vanilla"
        if run["config.model.norm"] == "group":
            place += ", group norm"
        return run["config.workers.outer"], place, run["config.workers.sync"]

    def setUp(self):
        self.runs = read_runs("experiments/local-placement/results.csv", self.cell_of)

    def check_table(self, head, norm):
        table = rows(PAGE, head)
        self.assertEqual(len(table), 10)
        for rule, place, *means in table:
            for text, sync in zip(means, self.SYNCS if rule == "average" else ["1", *self.SYNCS[1:]], strict=True):
                with self.subTest(f"{rule} {place} {norm} {sync}"):
                    self.assertEqual(text, written(self.runs.get((rule, place + norm, sync), {})))

    def test_the_tables_are_those_of_the_runs(self):
        self.check_table("| outer rule | placement | every step |", "")
        self.check_table("| group norm | placement | every step |", ", group norm")

    def test_differences_are_those_of_paired_seeds(self):
        table = rows(PAGE, "| outer rule | placement | H |")
        chances = {}
        for rule, place, sync, difference, interval, p, _ in table:
            with self.subTest(f"{rule} {place} {sync}"):
                paired = Paired(self.runs[rule, place, sync], self.runs[rule, "random", sync])
                self.assertEqual(paired.pairs, 3)
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                self.assertAlmostEqual(float(p), paired.p, delta=0.001)
                chances[rule, place, sync] = paired.p
        check_corrected(self, {tuple(row[:3]): row[-1] for row in table}, chances, delta=0.006)

    def test_the_prose_is_that_of_the_runs(self):
        def mean(place, sync, rule="average", measure="best_accuracy"):
            return mean_of(self.runs[rule, place, sync], measure)
        random = {sync: mean("random", sync) for sync in self.SYNCS}
        skewed = {sync: mean("by-class", sync) for sync in self.SYNCS}
        blocks = [Paired(self.runs[rule, "blocks", sync], self.runs[rule, "random", sync])
                  for rule, sync in [("average", "step"), ("average", "epoch"), ("nesterov", "epoch")]]
        unlearned = [float(run["best_accuracy"]) for run in read_table("experiments/local-placement/group-norm-unlearned.csv")
                     if self.cell_of(run)[:2] == ("average", "random, group norm")]
        check_claims(self, PAGE, [
            ("Blocks cost {} points where gradients are averaged in every step, {} once an epoch, and {} once an epoch "
             "with DiLoCo's rule", *(f"{-paired.mean:.1f}" for paired in blocks)),
            ("gradients averaged every step: {}.",
             spread(column(self.runs["average", "vanilla", "step"], "best_accuracy"), 2)),
            ("nothing at 10 steps, {} points at 50, {} once an epoch. Weights then send {}, {}, {} and {} GB an epoch.",
             *(f"{random['step'] - random[sync]:.1f}" for sync in ["50", "epoch"]),
             *(f"{mean('random', sync, measure='bytes_weights') / 20 / 1e9:.3g}" for sync in self.SYNCS)),
            ("is the best at 10 steps ({}) and the worst once an epoch ({})",
             *(f"{mean('random', sync, 'nesterov'):.1f}" for sync in ["10", "epoch"])),
            ("({} to {} against {})", f"{min(list(skewed.values())[1:]):.0f}", f"{max(list(skewed.values())[1:]):.0f}",
             f"{skewed['step']:.0f}"),
            ("at which group norm does not learn ({} to {} % with random parts",
             f"{min(unlearned):.0f}", f"{max(unlearned):.0f}"),
        ])

    def test_the_prose_on_group_norm_is_that_of_the_first_seed(self):
        def lost(place, sync, rule="average"):
            one, other = (float(self.runs[rule, f"{name}, group norm", sync]["1"]["best_accuracy"])
                          for name in [place, "random"])
            return one - other
        skewed = [lost("by-class", sync) for sync in self.SYNCS]
        repaired = [lost("by-class, is-pair 0.1", sync) for sync in self.SYNCS]
        blocks = [lost("blocks", sync) for sync in self.SYNCS]
        stripes = [lost("stripes", sync) for sync in self.SYNCS]
        diloco = [lost("by-class", sync, "nesterov") for sync in self.SYNCS[1:]]
        batch = {place: float(self.runs["nesterov", place, "1"]["1"]["best_accuracy"])
                 for place in ["random", "stripes", "blocks", "by-class", "by-class, is-pair 0.1"]}
        check_claims(self, PAGE, [
            ("by-class parts change {} points where gradients are averaged in every step, {} every 10 steps, {} every 50 and "
             "{} once an epoch ({}, {} and {} with DiLoCo's rule)", *(signed(x, 2) for x in skewed),
             *(signed(x, 2) for x in diloco)),
            ("an exchange of a tenth leaves {}, {}, {} and {}", *(signed(x, 2) for x in repaired)),
            ("Blocks {}, {}, {} and {}, Stripes {}, {}, {} and {}", *(signed(x, 2) for x in blocks),
             *(signed(x, 2) for x in stripes)),
            ("random parts come to {}, the other placements to {} to {}", f"{batch.pop('random'):.2f}",
             f"{min(batch.values()):.2f}", f"{max(batch.values()):.2f}"),
        ])
        check_claims(self, ROOT / "docs/answers/README.md", [
            ("with group norm by-class parts change {} every step, {} every 10 steps and {} once an epoch (one seed)",
             *(signed(skewed[i], 2) for i in [0, 1, 3]))])


class WithoutNorms(unittest.TestCase):
    """What is left of skew without batch norm."""

    @staticmethod
    def cell_of(run):
        if run["arm"] == "dealt anew":
            return run["arm"]
        exchanged = ", partial 0.3" if run["config.exchange.strategy"] == "partial" else ""
        return run["config.partition.start"] + exchanged, run["config.workers.sync"]

    def test_the_table_is_that_of_the_runs(self):
        runs = read_runs("experiments/skew-local/results.csv", self.cell_of)
        chances, written = {}, {}
        for place, sync, n, random, mean, difference, interval, p in rows(PAGE, "| no norms | H |"):
            with self.subTest(f"{place} {sync}"):
                paired = Paired(runs[place, sync], runs["random", sync])
                self.assertEqual((int(n), paired.pairs), (5, 5))
                self.assertEqual(random, spread(column(runs["random", sync], "best_accuracy"), 2))
                self.assertEqual(mean, spread(column(runs[place, sync], "best_accuracy"), 2))
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                chances[place, sync], written[place, sync] = paired.p, p
        self.assertEqual(len(chances), len(runs) - 4)  # all but random parts at three H and dealing anew
        check_corrected(self, written, chances)
        check_claims(self, PAGE, [("averaged in every step: {}. With so few steps",
                                   spread(column(runs["dealt anew"], "best_accuracy"), 2))])


class Language(unittest.TestCase):
    def setUp(self):
        self.runs = read_runs("experiments/gpu/results/local-gpt-mini.csv")

    def test_the_table_is_that_of_the_runs(self):
        check_perplexities(self, rows(PAGE, "| local language | n | perplexity |"), self.runs, "synchronous",
                           lambda own: f"{mean_of(own, 'bytes_weights') / 1e9:.1f} GB")

    def test_the_prose_is_that_of_the_runs(self):
        synchronous = self.runs.pop("synchronous")
        worse = [mean_of(own, "best_perplexity") / mean_of(synchronous, "best_perplexity") - 1
                 for own in self.runs.values()]
        fewer = {mean_of(synchronous, "bytes_weights") / mean_of(own, "bytes_weights") for own in self.runs.values()}
        self.assertEqual(len(fewer), 1)
        check_claims(self, PAGE, [("{} times fewer bytes of weights cost {} to {} % in perplexity", f"{fewer.pop():.0f}",
                                   *(f"{100 * share:.0f}" for share in [min(worse), max(worse)]))])


class Row(unittest.TestCase):
    """What the list of answers says of question 7."""

    def test_it_says_what_the_runs_say(self):
        placed = read_runs("experiments/local-placement/results.csv", Placement.cell_of)
        apart = read_runs("experiments/skew-local/results.csv", WithoutNorms.cell_of)
        text = read_runs("experiments/gpu/results/local-gpt-mini.csv")

        def lost(rule, place, sync):
            return f"{-Paired(placed[rule, place, sync], placed[rule, 'random', sync]).mean:.2f}"

        def without(place, sync):
            return Paired(apart[place, sync], apart["random", sync]).mean
        perplexities = [mean_of(text[arm], "best_perplexity") for arm in ["diloco", "synchronous"]]
        check_claims(self, ROOT / "docs/answers/README.md", [
            ("Blocks cost {} points every step, {} once an epoch, {} with DiLoCo's rule",
             lost("average", "blocks", "step"), lost("average", "blocks", "epoch"), lost("nesterov", "blocks", "epoch")),
            ("an exchange of a tenth repairs all but {}.", lost("average", "by-class, is-pair 0.1", "epoch")),
            ("averaged in every step ({}) and {} points where models become one every 8 steps, of which exchanging three "
             "tenths leaves {}.", signed(without("by-class", "step"), 2), f"{-without('by-class', '8'):.2f}",
             f"{-without('by-class, partial 0.3', '8'):.2f}"),
            ("costs {} in perplexity ({} against {}) and saves all but {} of {} GB of weights",
             f"{perplexities[0] - perplexities[1]:.2f}", *(f"{x:.2f}" for x in perplexities),
             *(f"{mean_of(text[arm], 'bytes_weights') / 1e9:.1f}" for arm in ["diloco", "synchronous"])),
        ])


if __name__ == "__main__":
    unittest.main()
