"""docs/results/io.md, question 3: what strategies learn, and what they read and send with caches, from the runs in experiments/io-strategies
and experiments/caches: python3 io_answers_test.py"""

import unittest

from answers import (ROOT, Paired, check_claims, check_corrected, column, holm, mean_of, read_runs, read_table, rows,
                     signed, spread, thousands)

PAGE = ROOT / "docs/results/io.md"
ANSWERS = ROOT / "docs/answers/README.md"
VALUE = "final_accuracy"
RUNS = read_runs("experiments/io-strategies/accuracy.csv")
PAIRED = {arm: Paired(runs, RUNS["vanilla"], VALUE) for arm, runs in RUNS.items() if arm != "vanilla"}
CACHES = {(row["strategy"], row["cache"]): row for row in read_table("experiments/caches/strategies.csv")}
MARGIN = 0.5  # points: "not worse by"


class Accuracies(unittest.TestCase):
    def test_the_table_of_accuracies_is_that_of_the_runs(self):
        table = {row[0]: row[1:] for row in rows(PAGE, "| strategy | n | accuracy |")}
        self.assertEqual(list(table), ["vanilla", *sorted(PAIRED, key=lambda arm: -PAIRED[arm].mean)])
        for arm, (n, accuracy, difference, interval, _) in table.items():
            with self.subTest(arm):
                self.assertEqual(int(n), len(RUNS[arm]))
                self.assertEqual(accuracy, spread(column(RUNS[arm], VALUE), 2))
                if arm != "vanilla":
                    self.assertEqual([difference, interval], [signed(PAIRED[arm].mean, 2), PAIRED[arm].interval(2)])
        check_corrected(self, {arm: table[arm][-1] for arm in PAIRED}, {arm: paired.p for arm, paired in PAIRED.items()},
                        delta=0.006)

    def test_what_can_be_said_of_accuracies(self):
        enough = holm({arm: paired.not_worse(MARGIN) for arm, paired in PAIRED.items()})
        corrected = holm({arm: paired.p for arm, paired in PAIRED.items()})
        surest = min(corrected, key=corrected.get)
        halves = [paired.half for paired in PAIRED.values()]
        check_claims(self, PAGE, [
            ("The surest of the {} differences, that of {}, has a Holm p of {}", str(len(PAIRED)), surest,
             f"{corrected[surest]:.2f}"),
            ("not worse than vanilla by {} points (one-sided, Holm): {} of {}", f"{MARGIN}",
             str(sum(p < 0.05 for p in enough.values())), str(len(enough))),
            ("half-widths of the intervals are {} to {} points", f"{min(halves):.2f}", f"{max(halves):.2f}"),
        ])


class Bytes(unittest.TestCase):
    """What strategies read, send and store, parts in a folder of each worker."""

    def setUp(self):
        self.runs = {row["strategy"]: row for row in read_table("experiments/io-strategies/bytes.csv")}

    def test_the_table_is_that_of_the_runs(self):
        table = rows(PAGE, "| strategy | read from the data set |")
        self.assertEqual([row[0] for row in table], list(self.runs))
        for strategy, *texts in table:
            run = self.runs[strategy]
            with self.subTest(strategy):
                self.assertEqual(texts, [
                    *(thousands(float(run[name]), 1) for name in ["source MiB", "local read MiB", "local written MiB",
                                                                   "predicted MiB", "network MiB"]),
                    run["flows"], thousands(int(run["moved"])), run["peak stored"],
                    *(f"{float(run[name]):.1f}" for name in ["exchange s", "importance pass s"]),
                    *(f"{float(run[name]):.0f}" for name in ["train s", "total s"]),
                    *(f"{float(run[name]):.1f}" for name in ["best %", "final %"])])

    def test_what_is_said_of_bytes(self):
        def mib(strategy, name="network MiB"):
            return float(self.runs[strategy][name])
        vanilla, often, seldom = (mib(name) for name in ["vanilla, parts", "stripes I=5", "stripes I=30"])
        shares = [f"{100 * part / vanilla:.0f}" for part in [often, seldom]]
        off = {name: mib(name) / mib(name, "predicted MiB") - 1 for name in self.runs if mib(name) > 0}
        self.assertLess(max(share for name, share in off.items() if "balance" not in name), 1e-4)
        check_claims(self, PAGE, [
            ("agree to 0.01 % (`balance-pair`, which sends next to nothing, to {} %)", f"{100 * max(off.values()):.2f}"),
            ("costs {} s of {} and reads", f"{mib('is Q=0.1', 'importance pass s'):.0f}", f"{mib('is Q=0.1', 'total s'):.0f}"),
            ("every 5 epochs needs {} % of that network traffic, every 30 epochs {} %", *shares),
            ("at I = 5 ({} against {} MiB", f"{mib('sticky stripes I=5'):.0f}", f"{often:.0f}"),
            ("moves next to nothing** ({} examples)", self.runs["balance-pair Q=0.1"]["moved"]),
            ("({} at Q = 0.1, {} at Q = 0.3)", *(thousands(int(self.runs[f"is-pair Q={fraction}"]["peak stored"]))
                                                for fraction in ["0.1", "0.3"])),
        ])
        check_claims(self, ANSWERS, [
            ("every 5 epochs needs {} % of the network traffic of a new random partition every epoch, every 30 epochs {} %",
             *shares),
            ("{} and {} of {} MiB", *(f"{part:.1f}" for part in [often, seldom, vanilla])),
        ])


class FromAServer(unittest.TestCase):
    def test_the_table_of_caches_is_that_of_the_runs(self):
        table = rows(PAGE, "| strategy | cache | from the server |")
        self.assertEqual([(row[0], row[1]) for row in table], list(CACHES))
        for strategy, cache, *texts, final in table:
            with self.subTest(f"{strategy}, {cache}"):
                row = CACHES[strategy, cache]
                self.assertEqual(texts, [f"{float(row[name]):.1f}" for name in
                                         ["source MiB", "network MiB", "disk read MiB", "disk written MiB", "own hits %",
                                          "peers' hits %"]])
                self.assertEqual(final, f"{float(row['final %']):.1f} ± {float(row['±']):.1f}")


class TheListOfAnswers(unittest.TestCase):
    def test_says_what_the_runs_say(self):
        pinned = [f"{float(CACHES[name, 'pin']['source MiB']):.1f}" for name in
                  ["vanilla", "stripes I=3", "sticky stripes I=3", "local"]]
        peers = CACHES["vanilla", "pin, peers"], CACHES["stripes I=3", "pin, peers"], CACHES["sticky stripes I=3", "pin, peers"]
        check_claims(self, ANSWERS, [
            ("{} MiB vanilla, {} Stripes, {} sticky, {} parts that stay", *pinned),
            ("cooperating caches read {} whatever the strategy, and pay in network ({}, {}, {}, none)",
             f"{float(peers[0]['source MiB']):.1f}", f"{float(peers[0]['network MiB']):.0f}",
             *(f"{float(row['network MiB']):.1f}" for row in peers[1:])),
            ("accuracies vanilla {}, Stripes every 5 epochs {}", f"{mean_of(RUNS['vanilla'], VALUE):.2f}",
             f"{mean_of(RUNS['stripes I=5'], VALUE):.2f}"),
        ])


if __name__ == "__main__":
    unittest.main()
