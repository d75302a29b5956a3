"""Question 5: tables and prose of docs/answers/exchange.md and batch_norm.md are those of the runs kept in
git: python3 exchange_answers_test.py"""

import statistics
import unittest

from answers import (ROOT, Paired, check_claims, check_corrected, column, holm, mean_of, read_runs, read_table, rows,
                     signed, spread, thousands)

STRATEGIES = ["partial", "is", "is-pair", "ilag-pair"]
BY_IMPORTANCE = STRATEGIES[1:]
FRACTIONS = ["0.05", "0.1", "0.3", "0.7"]
MARGIN = 0.5  # points that a fraction may be worse and still be enough


def read_exchanges(study):
    # Group norm did not learn at the learning rate of these runs.
    return {arm.replace(" fraction=", " "): runs for arm, runs in
            read_runs(f"experiments/{study}/results.csv").items() if "group norm" not in arm}


def over_all_fractions(runs, strategy):
    """Against chance, paired by seed: the mean of the four fractions."""
    means = [{seed: {"mean": statistics.mean(float(runs[f"{name} {q}"][seed]["best_accuracy"]) for q in FRACTIONS)}
              for seed in runs["global"]} for name in (strategy, "partial")]
    return Paired(*means, "mean")


def differences_to_chance(runs):
    return {(strategy, q): Paired(runs[f"{strategy} {q}"], runs[f"partial {q}"])
            for q in FRACTIONS for strategy in BY_IMPORTANCE if f"{strategy} {q}" in runs}


class Exchange(unittest.TestCase):
    """How much must be exchanged from parts of one class."""

    # Study, epochs, heads of the tables of accuracies and of differences to chance, name in other tables.
    STUDIES = [("exchange-fraction", 20, "| setting | n |", "| exchanged | is − partial |", "CIFAR-10"),
               ("exchange-cifar100", 20, "| CIFAR-100 | n |", "| CIFAR-100, exchanged |", "CIFAR-100"),
               ("exchange-2048", 40, "| 2 048 workers | n |", "| 2 048 workers, exchanged |", "2 048 workers")]
    PAGE = ROOT / "docs/answers/exchange.md"

    def check_table(self, all_runs, epochs, table):
        self.assertEqual({row[0] for row in table}, set(all_runs))
        chances, written = {}, {}
        for arm, n, accuracy, difference, interval, p, moved, messages in table:
            with self.subTest(arm):
                runs = all_runs[arm]
                self.assertEqual(int(n), len(runs))
                self.assertEqual(accuracy, spread(column(runs, "best_accuracy"), 2))
                for text, name in [(moved, "examples_moved"), (messages, "messages")]:
                    self.assertEqual(text, thousands(mean_of(runs, name) / epochs))
                if arm == "global":
                    continue
                paired = Paired(runs, all_runs["global"])
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                chances[arm], written[arm] = paired.p, p
        check_corrected(self, written, chances)

    def test_the_tables_are_those_of_the_runs(self):
        for study, epochs, head, *_ in self.STUDIES:
            with self.subTest(study):
                self.check_table(read_exchanges(study), epochs, rows(self.PAGE, head))

    def test_importance_is_held_against_chance(self):
        for study, _, _, head, _ in self.STUDIES:
            paired = differences_to_chance(read_exchanges(study))
            for fraction, *differences in rows(self.PAGE, head):
                for strategy, text in zip(BY_IMPORTANCE, differences):
                    with self.subTest(f"{study}: {strategy} {fraction}"):
                        self.assertEqual(text, paired[strategy, fraction].text(2))

    def test_what_importance_could_have_gained_unseen(self):
        seen = 0
        studies = {name: differences_to_chance(read_exchanges(study)) for study, *_, name in self.STUDIES}
        for name, fraction, *texts in rows(self.PAGE, "| detectable | exchanged |"):
            for strategy, text in zip(BY_IMPORTANCE, texts):
                with self.subTest(f"{name}: {strategy} {fraction}"):
                    paired = studies[name][strategy, fraction]
                    self.assertEqual(text, f"{paired.detectable():.2f} ({paired.detectable(len(studies[name])):.2f})")
                    seen += 1
        self.assertEqual(seen, sum(len(paired) for paired in studies.values()))
        least = {name: min(one.detectable() for one in paired.values()) for name, paired in studies.items()}
        most = {name: max(one.detectable() for one in paired.values()) for name, paired in studies.items()}
        check_claims(self, self.PAGE, [
            ("What five seeds could have seen lies between {} and {} points, {} to {} on CIFAR-100; three seeds of 2 048 "
             "workers could have seen nothing below {}.",
             *(f"{x:.1f}" for x in [least["CIFAR-10"], most["CIFAR-10"], least["CIFAR-100"], most["CIFAR-100"],
                                    least["2 048 workers"]]))])

    def test_what_fraction_is_enough(self):
        table = {tuple(row[:2]): row[2:] for row in rows(self.PAGE, "| enough? | strategy |")}
        self.assertEqual(len(table), len(self.STUDIES) * len(STRATEGIES))
        for study, *_, name in self.STUDIES:
            runs = read_exchanges(study)
            paired = {(strategy, q): Paired(runs[f"{strategy} {q}"], runs["global"])
                      for strategy in STRATEGIES for q in FRACTIONS if f"{strategy} {q}" in runs}
            chances = {cell: one.not_worse(MARGIN) for cell, one in paired.items()}
            adjusted = holm(chances)
            self.assertEqual([cell for cell, p in adjusted.items() if p < 0.05], [], "the page says none")
            for strategy in STRATEGIES:
                with self.subTest(f"{name}: {strategy}"):
                    best = min((cell for cell in paired if cell[0] == strategy), key=chances.get)
                    fraction, difference, p, corrected = table[name, strategy]
                    self.assertEqual((fraction, difference), (best[1], signed(paired[best].mean, 2)))
                    self.assertAlmostEqual(float(p), chances[best], delta=0.0006)
                    self.assertAlmostEqual(float(corrected), adjusted[best], delta=0.006)

    def test_the_prose_is_that_of_the_runs(self):
        small, hundred, many = (read_exchanges(study) for study, *_ in self.STUDIES)
        unlearned = read_runs("experiments/exchange-fraction/results.csv")
        look = read_runs("experiments/gpu/results/batch-norm-128.csv")
        to_global = holm({arm: Paired(own, small["global"]).p for arm, own in small.items() if arm != "global"})
        to_chance = [holm({cell: paired.p for cell, paired in differences_to_chance(runs).items()})
                     for runs in (small, hundred)]
        self.assertEqual([cell for cell, p in to_chance[0].items() if p < 0.05], [("is-pair", "0.1")])
        over_small, over_hundred = ([over_all_fractions(runs, strategy) for strategy in BY_IMPORTANCE]
                                    for runs in (small, hundred))
        a_tenth = [mean_of(runs["partial 0.1"]) - mean_of(runs["local"]) for runs in (small, hundred)]
        lost = [mean_of(runs["global"]) - mean_of(runs["local"]) for runs in (small, hundred)]
        three = [mean_of(runs[f"{s} 0.3"]) - mean_of(runs["global"]) for runs in (small, hundred) for s in STRATEGIES]
        at_global = Paired(hundred["partial 0.7"], hundred["global"])
        check_claims(self, self.PAGE, [
            ("128 workers lose {} points on CIFAR-10 and {} of {} on CIFAR-100",
             *(f"{x:.0f}" for x in [*lost, mean_of(hundred["global"])])),
            ("a tenth of each part per epoch, chosen by chance, wins back {} and {} of them", *(f"{x:.0f}" for x in a_tenth)),
            ("three tenths all but {} to {}", f"{-max(three):.1f}", f"{-min(three):.1f}"),
            ("seven tenths by chance all but {} on CIFAR-10 and {} on CIFAR-100",
             f"{mean_of(small['global']) - mean_of(small['partial 0.7']):.2f}", f"{-at_global.mean:.2f}"),
            ("Over all four fractions together `is` is better than chance by {}, is-pair by {}, ilag-pair by {}.",
             over_small[0].text(2).lstrip("+"), *(paired.text(2) for paired in over_small[1:])),
            ("a gain of more than {} points by any of them is not there", f"{max(paired.mean + paired.half for paired in over_small):.2f}"),
            ("Over all four fractions `is` differs from chance by {}, is-pair by {}, ilag-pair by {}:",
             *(paired.text(2) for paired in over_hundred)),
            ("Holm p {} and {} at 0.7", *(f"{to_chance[1][s, '0.7']:.4f}" for s in ["is-pair", "ilag-pair"])),
            ("Random parts that never change are as good as dealing anew ({})",
             Paired(hundred["random start"], hundred["global"]).text(2)),
            ("and by {} points. Groups of 16 *neighbours* do not help ({})",
             f"{mean_of(small['local, shared']) - mean_of(small['local']):.0f}", f"{mean_of(small['local, groups of 16']):.1f}"),
            ("one seed: {} against {} (", *(f"{mean_of(look[arm], 'final_accuracy'):.2f}" for arm in ["by-class", "by-class-shared"])),
            ("worse here than dealing anew ({} against {}; Holm p {})", f"{mean_of(small['random start']):.1f}",
             f"{mean_of(small['global']):.1f}", f"{to_global['random start']:.2f}"),
            ("(0.1 from the first step): {} with random parts, {} by class",
             *(f"{mean_of(unlearned[arm]):.1f}" for arm in ["random start, group norm", "local, group norm"])),
            ("shared statistics are {} points above everything else",
             f"{mean_of(many['local, shared']) - max(mean_of(own) for arm, own in many.items() if 'shared' not in arm):.0f}"),
            ("parts by class are as good as dealing anew ({})",
             Paired(many["local, shared"], many["global, shared"]).text(2)),
        ])


class Cost(unittest.TestCase):
    """What a point costs: accuracies of the runs, traffic and seconds as `impart io` predicts them."""

    PAGE = Exchange.PAGE
    NORMS, SUMS = 20, 40  # of a ResNet-18, and of a step: each norm waits forward and backward
    STEPS = {"128": 49, "2048": 7}

    def setUp(self):
        self.runs = {name: read_exchanges(study) for study, *_, name in Exchange.STUDIES}
        self.costs = {"128": {row["strategy"]: row for row in read_table("experiments/exchange-fraction/costs.csv")},
                      "2048": {row["strategy"]: row for row in read_table("experiments/exchange-2048/costs.csv")}}
        for data in ("10", "100"):
            norms = read_runs(f"experiments/is-it-batch-norm/resnet18-cifar{data}.csv")
            self.runs[f"CIFAR-{data}"]["group norm"] = norms["group norm"]

    def accuracy(self, name, arm):
        arm = {"nothing": "local", "dealing anew": "global", "shared statistics": "local, shared"}.get(arm, arm)
        return f"{mean_of(self.runs[name][arm]):.2f}" if arm in self.runs[name] else ""

    def traffic(self, nodes, arm):
        """Bytes of examples and of statistics, messages, and what a node waits: for these and for importance."""
        if arm in ("nothing", "group norm"):
            return ["0", "0", "0", "0"]
        if arm == "shared statistics":
            row = self.costs[nodes]["local"]
            messages = 2 * (int(nodes) - 1) * self.SUMS * self.STEPS[nodes]
            return ["0", megabytes(row["epoch_statistics_bytes"]), thousands(messages),
                    milliseconds(row["epoch_statistics_seconds"])]
        row = self.costs[nodes]["vanilla" if arm == "dealing anew" else arm.replace(" ", "@")]
        waits = milliseconds(row["epoch_exchange_seconds"])
        if float(row["epoch_forward_seconds"]):
            waits += f" + {milliseconds(row['epoch_forward_seconds'])}"
        return [megabytes(row["epoch_network_bytes"]), "0", thousands(float(row["epoch_flows"])), waits]

    def test_the_tables_are_those_of_the_runs_and_of_impart_io(self):
        for head, nodes, names in [("| 128 workers, by class |", "128", ["CIFAR-10", "CIFAR-100"]),
                                   ("| 2 048 workers, by class |", "2048", ["2 048 workers"])]:
            table = rows(self.PAGE, head)
            self.assertGreater(len(table), 14)
            for arm, *written in table:
                with self.subTest(f"{nodes}: {arm}"):
                    self.assertEqual(written, [self.accuracy(name, arm) for name in names] + self.traffic(nodes, arm))

    def test_the_prose_is_that_of_the_runs_and_of_impart_io(self):
        few, many = self.costs["128"]["local"], self.costs["2048"]["local"]
        compute = [float(row["epoch_compute_seconds"]) + float(row["epoch_gradient_seconds"])
                   - float(row["epoch_gradient_hidden_seconds"]) for row in (few, many)]
        small, hundred = self.runs["CIFAR-10"], self.runs["CIFAR-100"]
        above = {q: [Paired(hundred[f"{s} {q}"], hundred["group norm"]).mean for s in STRATEGIES] for q in FRACTIONS}
        self.assertTrue(all(x < 0 for x in above["0.05"]) and all(x > 0 for x in above["0.1"]))
        best = {data: max(mean_of(runs[f"{s} {q}"]) for s in STRATEGIES for q in FRACTIONS)
                for data, runs in [("10", small), ("100", hundred)]}
        anew = [mean_of(runs["local, shared"]) - mean_of(runs["global"]) for runs in (small, hundred)]
        check_claims(self, self.PAGE, [
            ("no fraction reaches what shared statistics reach: {} against {} at best on CIFAR-10, {} against {} on CIFAR-100",
             f"{best['10']:.2f}", self.accuracy("CIFAR-10", "shared statistics"),
             f"{best['100']:.2f}", self.accuracy("CIFAR-100", "shared statistics")),
            ("what group norm has on CIFAR-10 ({}) neither, not even dealing anew ({})",
             self.accuracy("CIFAR-10", "group norm"), self.accuracy("CIFAR-10", "dealing anew")),
            ("a tenth has more, by chance {} points", Paired(hundred["partial 0.1"], hundred["group norm"]).text(2)),
            ("a twentieth less, {}: there {} and {} an epoch buy",
             Paired(hundred["partial 0.05"], hundred["group norm"]).text(2),
             *self.traffic("128", "partial 0.1")[::3]),
            ("{} % on top of a {} s epoch, and {} against {} at seven tenths",
             f"{100 * float(few['epoch_statistics_seconds']) / compute[0]:.0f}", f"{compute[0]:.1f}",
             megabytes(few["epoch_statistics_bytes"]),
             megabytes(self.costs["128"]["partial@0.7"]["epoch_network_bytes"])),
            ("They buy {} and {} points above dealing anew", *(f"{x:.1f}" for x in anew)),
            ("The gradients that all send are {} and {} GB an epoch, for which a node waits {} and {} ms",
             *(thousands(float(row["epoch_gradient_bytes"]) / 1e9) for row in (few, many)),
             *(f"{1000 * (float(row['epoch_gradient_seconds']) - float(row['epoch_gradient_hidden_seconds'])):.0f}"
               for row in (few, many))),
        ])


def megabytes(number):
    return f"{float(number) / 1e6:,.1f} MB".replace(",", " ")


def milliseconds(seconds):
    number = float(seconds) * 1000
    return f"{number:.2f} ms" if number < 10 else f"{number:.0f} ms"


class BatchNorm(unittest.TestCase):
    """Whether it is batch norm that parts of one class hurt."""

    PAGE = ROOT / "docs/answers/batch_norm.md"
    STARTS = [", random start", "", ", partial", ", is-pair"]

    @staticmethod
    def read(net_and_data):
        name = net_and_data.lower().replace("-", "").replace(", ", "-")
        runs = read_runs(f"experiments/is-it-batch-norm/{name}.csv")
        return runs | read_runs("experiments/is-it-batch-norm/groups.csv") if name == "resnet18-cifar10" else runs

    def test_the_table_is_that_of_the_runs(self):
        chances, written, seen = {}, {}, 0
        for title, norm, n, *means, difference, interval, p in rows(self.PAGE, "| net and data |"):
            runs = self.read(title)
            with self.subTest(f"{title}: {norm}"):
                for start, text in zip(self.STARTS, means):
                    own = runs.get(norm + start, {})
                    seen += len(own)
                    self.assertEqual(text, spread(column(own, "best_accuracy"), 2) if own else "")
                    self.assertTrue(not own or len(own) == int(n))
                if norm + ", random start" not in runs:
                    self.assertEqual((difference, interval, p), ("", "", ""))
                    continue
                paired = Paired(runs[norm], runs[norm + ", random start"])
                self.assertEqual(difference, signed(paired.mean, 2))
                self.assertEqual(interval, paired.interval(2))
                chances[title, norm], written[title, norm] = paired.p, p
        self.assertEqual(seen, 80 + 80 + 24 + 80 + 20)
        check_corrected(self, written, chances)

    def test_what_batch_norm_loses_is_lost_by_no_other_norm(self):
        for title, norm, text in [("ResNet-18, CIFAR-10", "group norm", "42.5 ± 8.1"),
                                  ("ResNet-18, CIFAR-100", "group norm", "42.7 ± 0.9"),
                                  ("ResNet-18, CIFAR-10", "shared", "43.2 ± 6.7"),
                                  ("ResNet-18, CIFAR-100", "shared", "42.1 ± 1.9"),
                                  ("ResNet-34, CIFAR-100", "group norm", "35.0 ± 1.8"),
                                  ("ResNet-34, CIFAR-100", "shared", "35.3 ± 2.4")]:
            runs = self.read(title)

            def loss(norm):
                return {seed: {"loss": float(run["best_accuracy"]) - float(runs[norm][seed]["best_accuracy"])}
                        for seed, run in runs[norm + ", random start"].items()}
            with self.subTest(f"{title}: {norm}"):
                paired = Paired(loss("worker"), loss(norm), "loss")
                self.assertEqual(text, f"{paired.mean:.1f} ± {paired.half:.1f}")
                self.assertIn(text, self.PAGE.read_text())
                self.assertLess(paired.p, 0.00015)

    def test_the_prose_is_that_of_the_runs(self):
        ten, hundred = self.read("ResNet-18, CIFAR-10"), self.read("ResNet-18, CIFAR-100")
        deeper, deepest = self.read("ResNet-34, CIFAR-10"), self.read("ResNet-34, CIFAR-100")

        def gains(norm, all_runs=(ten, hundred)):
            return [Paired(runs[norm + ", partial"], runs[norm]).text(2) for runs in all_runs]

        def less(runs, arm, base):
            return mean_of(runs[arm]) - mean_of(runs[base])
        importance = [Paired(runs[norm + ", is-pair"], runs[norm + ", partial"])
                      for runs in (ten, hundred, deepest) for norm in ["worker", "groups of 64", "shared", "group norm"]]
        importance.sort(key=lambda paired: paired.mean)
        check_claims(self, self.PAGE, [
            ("With norms of each worker a tenth exchanged gives {} and {} points; with shared statistics {} and {}, with "
             "group norm {} and {}.", *(f"{less(runs, 'worker, partial', 'worker'):.2f}" for runs in (ten, hundred)),
             *gains("shared"), *gains("group norm")),
            ("With ResNet-34 on CIFAR-100 the three are {}, {} and {}.", f"{less(deepest, 'worker, partial', 'worker'):.2f}",
             *gains("shared", [deepest]), *gains("group norm", [deepest])),
            ("Group norm: {} and {} points, ResNet-34 on CIFAR-100 {}; shared statistics: {}, {} and {}.",
             *(Paired(runs[norm], runs[norm + ", random start"]).text(2)
               for norm in ["group norm", "shared"] for runs in (ten, hundred, deepest))),
            ("is-pair less partial is between {} (norms of each worker, ResNet-18, CIFAR-100: *worse*) and {} (groups of "
             "64, ResNet-18, CIFAR-10) in the twelve cells",
             importance[0].text(2), importance[-1].text(2)),
            ("({}, {} and {} for 4, 8 and 16, against {} of each worker); 32 see a quarter of the classes ({})",
             *(f"{mean_of(ten[arm]):.2f}" for arm in ["groups of 4", "groups of 8", "groups of 16", "worker", "groups of 32"])),
            ("win back {} and {} of 42 points, and {} of {} with ResNet-34 on CIFAR-100",
             *(f"{less(runs, 'groups of 64', 'worker'):.0f}" for runs in (ten, hundred, deepest)),
             f"{-less(deepest, 'worker', 'worker, random start'):.0f}"),
            ("are {} points better than each worker's ({} against {}), and {} with ResNet-34 on CIFAR-10",
             f"{less(ten, 'shared, random start', 'worker, random start'):.1f}",
             f"{mean_of(ten['shared, random start']):.2f}", f"{mean_of(ten['worker, random start']):.2f}",
             f"{less(deeper, 'shared, random start', 'worker, random start'):.1f}"),
            ("group norm is {} points behind batch norm of each worker",
             f"{-less(hundred, 'group norm, random start', 'worker, random start'):.1f}"),
        ])


if __name__ == "__main__":
    unittest.main()
