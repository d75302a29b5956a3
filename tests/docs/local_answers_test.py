"""Question 7: tables and prose of docs/answers/local.md are those of the runs kept in git:
python3 local_answers_test.py"""

import math
import statistics
import unittest

from answers import (ROOT, Paired, check_claims, check_corrected, check_perplexities, column, holm, mean_of, read_runs,
                     read_table, rows, signed, spread, thousands)

PAGE = ROOT / "docs/answers/local.md"


def written(runs):
    """Mean and deviation, with n where it is not three."""
    accuracies = column(runs, "best_accuracy")
    text = f"{accuracies[0]:.2f}" if len(runs) == 1 else spread(accuracies, 2) if runs else ""
    return text + (f" (n {len(runs)})" if len(runs) in (1, 2) else "")


class Placement(unittest.TestCase):
    """Where local updates make placement matter, with batch norm and with group norm."""

    SYNCS = ["step", "10", "50", "epoch"]
    OTHERS = ["stripes", "blocks", "by-class, is-pair 0.1", "by-class"]

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

    def differences(self, norm):
        """Paired with random parts, by rule, placement and H: those that train at all."""
        return {(rule, place, sync): Paired(self.runs[rule, place + norm, sync], self.runs[rule, "random" + norm, sync])
                for rule, syncs in [("average", self.SYNCS), ("nesterov", self.SYNCS[1:])] for place in self.OTHERS
                for sync in syncs}

    def test_differences_are_those_of_paired_seeds(self):
        for head, norm in [("| differences, batch norm |", ""), ("| differences, group norm |", ", group norm")]:
            paired = self.differences(norm)
            self.assertEqual({one.pairs for one in paired.values()}, {3})
            corrected = holm({cell: one.p for cell, one in paired.items()})
            table = rows(PAGE, head)
            self.assertEqual(len(table), 2 * len(self.OTHERS))
            for rule, place, *texts in table:
                for sync, text in zip(self.SYNCS, texts, strict=True):
                    cell = (rule, place, sync)
                    with self.subTest(f"{norm} {cell}"):
                        self.assertEqual(text, f"{paired[cell].text(2)} ({corrected[cell]:.2f})" if cell in paired else "")

    def over_all_cells(self, place):
        """Of workers that train apart: a seed's mean over norms, rules and H."""
        cells = [(self.runs[rule, place + norm, sync], self.runs[rule, "random" + norm, sync])
                 for norm in ["", ", group norm"] for rule in ["average", "nesterov"] for sync in self.SYNCS[1:]]
        means = {seed: {"mean": statistics.mean(float(runs[seed]["best_accuracy"]) for runs, _ in cells)} for seed in "123"}
        base = {seed: {"mean": statistics.mean(float(runs[seed]["best_accuracy"]) for _, runs in cells)} for seed in "123"}
        return Paired(means, base, "mean")

    def test_all_cells_together(self):
        chances, written_chances = {}, {}
        for place, difference, interval, p in rows(PAGE, "| apart | difference |"):
            with self.subTest(place):
                paired = self.over_all_cells(place)
                self.assertEqual((difference, interval), (signed(paired.mean, 2), paired.interval(2)))
                chances[place], written_chances[place] = paired.p, p
        self.assertEqual(set(chances), set(self.OTHERS))
        check_corrected(self, written_chances, chances)

    def test_the_first_lines_are_those_of_the_runs(self):
        lost = {sync: signed(self.differences(", group norm")["average", "by-class", sync].mean, 2) for sync in self.SYNCS}
        together = {place: self.over_all_cells(place).text(2) for place in self.OTHERS}
        check_claims(self, PAGE, [
            ("batch ({} points, group norm); where models become one every 10 steps they cost {} points, every 50 {}, once "
             "an epoch {}.", lost["step"], *(lost[sync].lstrip("−") for sync in self.SYNCS[1:])),
            ("leaves {} of that, Blocks cost {} and Stripes nothing ({}), each over the twelve cells",
             together["by-class, is-pair 0.1"].lstrip("−"), together["blocks"].lstrip("−"), together["stripes"])])

    def test_the_prose_is_that_of_the_runs(self):
        group = ", group norm"

        def mean(place, sync, rule="average", measure="best_accuracy"):
            return mean_of(self.runs[rule, place, sync], measure)

        def less(norm, sync):
            return f"{mean('random' + norm, 'step') - mean('random' + norm, sync):.1f}"
        apart = self.SYNCS[1:]
        skewed = [mean("by-class", sync) for sync in apart]
        lost = self.differences(group)
        batch_norm = [-one.mean for cell, one in self.differences("").items() if cell[1] == "by-class"]
        diloco = Paired(self.runs["nesterov", "random" + group, "10"], self.runs["average", "random" + group, "step"])
        every_step = {norm: [self.runs["nesterov", place + norm, "1"] for place in ["random", *self.OTHERS]]
                      for norm in ["", group]}
        means = {norm: [mean_of(runs) for runs in all_runs] for norm, all_runs in every_step.items()}
        deviations = [statistics.stdev(column(runs, "best_accuracy")) for norm in every_step for runs in every_step[norm]]
        unlearned = [float(run["best_accuracy"]) for run in read_table("experiments/local-placement/group-norm-unlearned.csv")
                     if self.cell_of(run)[:2] == ("average", "random, group norm")]
        check_claims(self, PAGE, [
            ("gradients averaged every step: {}, with group norm {}.",
             *(spread(column(self.runs["average", "vanilla" + norm, "step"], "best_accuracy"), 2) for norm in ["", group])),
            ("by-class parts change {} points where gradients are averaged in every step, {} every 10 steps, {} every 50 and "
             "{} once an epoch ({}, {} and {} with DiLoCo's rule)",
             *(signed(lost["average", "by-class", sync].mean, 2) for sync in self.SYNCS),
             *(signed(lost["nesterov", "by-class", sync].mean, 2) for sync in apart)),
            ("With batch norm they cost {} to {} points at every H", f"{min(batch_norm):.0f}", f"{max(batch_norm):.0f}"),
            ("{} points at 50 steps and {} once an epoch with batch norm, {}, {} and {} at 10, 50 and once an epoch with "
             "group norm. Weights then send {}, {}, {} and {} GB an epoch",
             *(less("", sync) for sync in apart[1:]), *(less(group, sync) for sync in apart),
             *(f"{mean('random', sync, measure='bytes_weights') / 20 / 1e9:.3g}" for sync in self.SYNCS)),
            ("is the best at 10 steps ({} and, with group norm, {}: {} to averaging gradients in every step) and the worst "
             "once an epoch ({} and {})", f"{mean('random', '10', 'nesterov'):.1f}",
             f"{mean('random' + group, '10', 'nesterov'):.1f}", diloco.text(2), f"{mean('random', 'epoch', 'nesterov'):.1f}",
             f"{mean('random' + group, 'epoch', 'nesterov'):.1f}"),
            ("({} to {} against {}): each model", f"{min(skewed):.0f}", f"{max(skewed):.0f}", f"{mean('by-class', 'step'):.0f}"),
            ("means of {} to {} % with batch norm and {} to {} % with group norm, with deviations up to {} points",
             *(f"{extreme(means[norm]):.0f}" for norm in ["", group] for extreme in (min, max)), f"{max(deviations):.0f}"),
            ("at which group norm does not learn ({} to {} % with random parts",
             f"{min(unlearned):.0f}", f"{max(unlearned):.0f}"),
        ])


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


class Mixes(unittest.TestCase):
    """Which mix of agreeing and exchanging reaches a target with the fewest bytes."""

    BASE = ("nothing", "step")
    WIRE = 8  # bytes beside an example that moves

    @staticmethod
    def cell_of(run):
        if run["config.exchange.strategy"] == "none" or run["arm"] == "step, nothing":
            place = "dealt anew" if run["config.partition.interval"] == "1" else "nothing"
        else:
            place = f"{run['config.exchange.strategy']} {run['config.exchange.fraction']}"
        return place, run["config.workers.sync"]

    @classmethod
    def bytes_of(cls, run):
        """Weights and examples that one run sent."""
        example = float(run["payload_bytes_total"]) / float(run["examples"]) + cls.WIRE
        return float(run["bytes_weights"]), float(run["examples_moved"]) * example

    @staticmethod
    def reached(runs):
        return sum(run["stopped_at.reached"] == "1" for run in runs.values())

    def setUp(self):
        self.runs = read_runs("experiments/sync-or-exchange/results.csv", self.cell_of)
        self.means = {cell: [statistics.mean(found) for found in zip(*map(self.bytes_of, runs.values()))]
                      for cell, runs in self.runs.items()}
        self.ratios = {cell: self.against_base(runs) for cell, runs in self.runs.items()
                       if cell != self.BASE and self.reached(runs) == 5}

    def against_base(self, runs):
        logs = [{seed: {"log": math.log(sum(self.bytes_of(run)))} for seed, run in own.items()}
                for own in (runs, self.runs[self.BASE])]
        return Paired(*logs, "log")

    def test_the_table_is_that_of_the_runs(self):
        table = rows(PAGE, "| agree every | exchange |")
        self.assertEqual({(place, sync) for sync, place, *_ in table}, set(self.runs))
        chances, corrected = {}, {}
        for sync, place, reached, accuracy, weights, examples, both, interval, p in table:
            cell = (place, sync)
            with self.subTest(cell):
                runs = self.runs[cell]
                self.assertEqual(reached, f"{self.reached(runs)} of {len(runs)}")
                self.assertEqual(accuracy, spread(column(runs, "best_accuracy"), 2))
                self.assertEqual(weights, f"{self.means[cell][0] / 1e9:.2f} GB")
                self.assertEqual(examples, f"{self.means[cell][1] / 1e6:.1f} MB")
                if cell not in self.ratios:
                    self.assertEqual((both, interval, p), ("", "", ""))
                    continue
                ratio = self.ratios[cell]
                low, mean, high = (math.exp(ratio.mean + shift) for shift in (-ratio.half, 0, ratio.half))
                self.assertEqual((both, interval), (f"{mean:.2f}", f"{low:.2f} … {high:.2f}"))
                chances[cell], corrected[cell] = ratio.p, p
        check_corrected(self, corrected, chances)
        check_claims(self, PAGE, [("paired; Holm's correction over the {}.", len(chances))])

    def test_the_prose_is_that_of_the_runs(self):
        def ratio(cell):
            return f"{math.exp(self.ratios[cell].mean):.2f}"
        at_four = [ratio(cell) for cell in self.ratios if cell[1] == "4" and cell[0] != "nothing"]
        weights, examples = zip(*self.means.values())
        run = next(iter(self.runs[self.BASE].values()))
        epochs = [mean_of(self.runs[cell], "epochs") for cell in [("nothing", "4"), self.BASE]]
        self.assertEqual({self.reached(runs) for cell, runs in self.runs.items() if cell[1] in ("16", "32")}, {0})
        check_claims(self, PAGE, [
            ("exchange a tenth by chance reaches a target with {} of the bytes that agreeing in every step takes, to agree "
             "every 4 steps alone with {}", ratio(("partial 0.1", "4")), ratio(("nothing", "4"))),
            ("at most {} GB of them against {} to {} GB of weights", f"{max(examples) / 1e9:.2f}", f"{min(weights) / 1e9:.1f}",
             f"{max(weights) / 1e9:.0f}"),
            ("A net of {} numbers and pictures of {} kB", thousands(float(run["parameters"])),
             f"{float(run['payload_bytes_total']) / float(run['examples']) / 1000:.1f}"),
            ("at 4 steps ({} to {} of the bytes)", min(at_four), max(at_four)),
            ("a tenth by importance takes {} GB, by chance {}.",
             *(f"{self.means[place, '4'][0] / 1e9:.2f}" for place in ["is-pair 0.1", "partial 0.1"])),
            ("needs {} times the epochs", f"{epochs[0] / epochs[1]:.1f}"),
        ])


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
    """What the list of answers says of question 7; p and intervals are those of the page's tables, by their tests."""

    def test_it_says_what_the_runs_say(self):
        placement, mixes = Placement(), Mixes()
        placement.setUp()
        mixes.setUp()
        apart = read_runs("experiments/skew-local/results.csv", WithoutNorms.cell_of)
        text = read_runs("experiments/gpu/results/local-gpt-mini.csv")
        lost = {sync: signed(placement.differences(", group norm")["average", "by-class", sync].mean, 2)
                for sync in ["step", "10", "epoch"]}

        def without(sync):
            return Paired(apart["by-class", sync], apart["random", sync]).mean
        perplexities = [mean_of(text[arm], "best_perplexity") for arm in ["diloco", "synchronous"]]
        together = {place: row for place, *row in rows(PAGE, "| apart | difference |")}
        cheapest = next(row for row in rows(PAGE, "| agree every | exchange |") if row[:2] == ["4", "partial 0.1"])
        check_claims(self, ROOT / "docs/answers/README.md", [
            ("parts by class change {} points while gradients are averaged in every step, {} where models become one every "
             "10 steps and {} once an epoch", *lost.values()),
            ("an exchange of a tenth leaves {} of that, Blocks cost {}, Stripes nothing",
             *(placement.over_all_cells(place).text(2).lstrip("−") for place in ["by-class, is-pair 0.1", "blocks"])),
            ("Holm p: the exchange {}, Blocks {}, Stripes {}; bytes: {}, {};",
             *(together[place][-1] for place in ["by-class, is-pair 0.1", "blocks", "stripes"]), *cheapest[-2:]),
            ("({} every step, {} points every 8 steps)", signed(without("step"), 2), f"{-without('8'):.2f}"),
            ("reaches a target with {} of what agreeing in every step takes, without the exchange with {}.",
             *(f"{math.exp(mixes.ratios[place, '4'].mean):.2f}" for place in ["partial 0.1", "nothing"])),
            ("costs {} in perplexity ({} against {}) and saves all but {} of {} GB of weights",
             f"{perplexities[0] - perplexities[1]:.2f}", *(f"{x:.2f}" for x in perplexities),
             *(f"{mean_of(text[arm], 'bytes_weights') / 1e9:.1f}" for arm in ["diloco", "synchronous"])),
        ])


if __name__ == "__main__":
    unittest.main()
