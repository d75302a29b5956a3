"""Simulated against measured exchanges, docs/simulate.md: table and sentences are those of experiments/simulate:
python3 simulate_test.py"""

import unittest

from answers import ROOT, check_claims, read_table, rows

PAGE = ROOT / "docs/simulate.md"
ALL_TO_ALL = ["vanilla", "partial@0.1", "sticky-stripes@1"]
FAR, NEAR = 0.15, 0.06


def spread_of(ratios):
    least, most = (f"{ratio:.2f}" for ratio in [min(ratios), max(ratios)])
    return least if least == most else f"{least} to {most}"


class Measured(unittest.TestCase):
    def setUp(self):
        self.rows = {(row["congestion"], row["queue_ms"], row["hosts"], row["rate_mbit"], row["strategy"]): row
                     for row in read_table("experiments/simulate/measured.csv")}
        self.plain = {(row["congestion"], row["queue_ms"], row["hosts"], row["rate_mbit"], row["shape"]): row
                      for row in read_table("experiments/simulate/plain_tcp.csv")}

    def ratio(self, congestion, queue, hosts, rate, strategy, kind="median_ratio"):
        return float(self.rows[congestion, queue, hosts, rate, strategy][kind])

    def beyond(self, congestion, share):
        """How many medians of the table are further off, and of how many."""
        medians = [float(row["median_ratio"]) for key, row in self.rows.items() if key[:2] == (congestion, "50")]
        self.assertEqual(len(medians), 24)
        return sum(abs(median - 1) > share for median in medians)

    def test_the_table_is_that_of_the_exchanges(self):
        table = rows(PAGE, "| strategy | 2 hosts, 100 Mb/s |")
        self.assertEqual(len(table), 4)
        for strategy, *cells in table:
            places = [(hosts, rate) for rate in ["100", "1000"] for hosts in ["2", "4", "8"]]
            for text, (hosts, rate) in zip(cells, places, strict=True):
                with self.subTest(f"{strategy}, {hosts} hosts, {rate} Mb/s"):
                    self.assertEqual(text, ", ".join(f"{self.ratio('reno', '50', hosts, rate, strategy, kind):.2f}"
                                                     for kind in ["median_ratio", "best_ratio"]))

    def test_the_sentences_are_those_of_the_exchanges(self):
        strategies = [*ALL_TO_ALL, "is-pair@0.1"]
        four = {congestion: spread_of([self.ratio(congestion, "50", "4", "100", strategy) for strategy in ALL_TO_ALL])
                for congestion in ["bbr", "reno"]}
        deep = [self.rows["reno", "200", "8", "100", strategy] for strategy in strategies]
        self.assertTrue(all(row["dropped"] == "0" for row in deep))
        check_claims(self, PAGE, [
            ("Of the 24 medians {} are within 15 %, {} of them within 6 %", str(24 - self.beyond("reno", FAR)),
             str(24 - self.beyond("reno", NEAR))),
            ("{} packets in nine exchanges", self.rows["reno", "50", "8", "100", "partial@0.1"]["dropped"]),
            ("the four strategies there take {} of the simulated seconds",
             spread_of([float(row["median_ratio"]) for row in deep])),
            ("100 Mb/s takes {} of the simulated seconds where reno takes {}, and pairs, which share nothing, {} and {}; "
             "{} of its 24 medians are beyond 15 %", four["bbr"], four["reno"],
             *(f"{self.ratio(congestion, '50', '4', '100', 'is-pair@0.1'):.2f}" for congestion in ["bbr", "reno"]),
             str(self.beyond("bbr", FAR))),
            ("take {} of what an even share would by BBR, and {} by reno",
             *(f"{float(self.plain[congestion, '50', '4', '100', 'all']['median_ratio']):.2f}"
               for congestion in ["bbr", "reno"])),
        ])


if __name__ == "__main__":
    unittest.main()
