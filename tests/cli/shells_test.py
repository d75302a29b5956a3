#!/usr/bin/env python3
"""Completion in shells, and manual pages: python3 shells_test.py path/to/impart"""

import contextlib
import os
import pty
import select
import shutil
import subprocess
import unittest

from commands import IMPART, CommandTest


def read_until(terminal, enough, seconds=20):
    """What a terminal shows, until that is in it or nothing came for so long."""
    shown = ""
    while enough not in shown and select.select([terminal], [], [], seconds)[0]:
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


class CompletionTest(CommandTest):
    def candidates(self, *words):
        return [line.split("\t")[0] for line in self.succeed("candidates", "--", *words).splitlines()]

    def test_words_are_completed(self):
        self.assertEqual(self.candidates("tr"), ["train"])
        self.assertEqual(self.candidates("data", "f"), ["fetch"])
        self.assertEqual(self.candidates("train", "--over"), ["--overwrite"])
        self.assertEqual(self.candidates("train", "qui"), ["quick"])
        self.assertEqual(self.candidates("train", "quick", "partition.h"), ["partition.heuristic="])
        self.assertEqual(self.candidates("train", "quick", "device="),
                         ["device=auto", "device=cpu", "device=cuda"])
        self.assertEqual(self.candidates("list", "mod"), ["models"])
        self.assertNotIn("candidates", self.candidates(""))
        self.assertNotIn("candidates", self.succeed("--help"))

    def test_an_unknown_shell_is_told_those_that_are_known(self):
        self.fail_with(2, "unknown shell 'tcsh'; there are: bash, zsh, fish", "completion", "tcsh")


class ShellTest(CommandTest):
    """The scripts, in the shells that are there."""

    ENVIRONMENT = {**os.environ, "PATH": f"{os.path.dirname(IMPART)}:{os.environ['PATH']}", "TERM": "dumb"}

    def ask(self, shell, script):
        if shutil.which(shell) is None:
            self.skipTest(f"no {shell}")
        self.write("a-file.txt", "")
        return subprocess.run([shell, "-c", script], cwd=self.folder, env=self.ENVIRONMENT, text=True,
                              capture_output=True, check=True).stdout

    def test_bash_completes(self):
        shown = self.ask("bash", self.succeed("completion", "bash") + """
            for line in 'impart tr' 'impart train quick eval.pro' 'impart train eval.protocol=p'; do
              COMP_LINE=$line COMP_POINT=${#line}; _impart; echo "${COMPREPLY[*]}"
            done""")
        self.assertEqual(shown.split("\n"), ["train", "eval.protocol=", "paper", ""])

    def test_fish_completes(self):
        shown = self.ask("fish", """impart completion fish | source
            for line in 'tr' 'train quick eval.pro' 'train eval.protocol=p' 'report a-'
              complete -C "impart $line" | string replace -r '\\t.*' ''
            end; true""")
        self.assertEqual(shown.split(), ["train", "eval.protocol=", "eval.protocol=paper", "a-file.txt"])

    @contextlib.contextmanager
    def zsh(self, load):
        """The terminal of a shell that was started with these lines."""
        self.write(".zshrc", f"PS1='ready '; {load}\n")
        main, side = pty.openpty()
        with subprocess.Popen(["zsh", "-d", "-i"], cwd=self.folder, stdin=side, stdout=side, stderr=side,
                              env={**self.ENVIRONMENT, "ZDOTDIR": str(self.folder)},
                              start_new_session=True) as shell:
            os.close(side)
            read_until(main, "ready ")
            yield main
            shell.kill()
        os.close(main)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_completes(self):
        self.write("a-file.txt", "")
        self.write("_impart", self.succeed("completion", "zsh"))
        for load in ["autoload -U compinit; compinit -D -u; source <(impart completion zsh)",
                     "fpath=($PWD $fpath); autoload -U compinit; compinit -D -u"]:
            with self.zsh(load) as terminal:
                for line, seen in {"tr": "impart train ", "train quick eval.pro": "train quick eval.protocol=",
                                   "train eval.protocol=p": "eval.protocol=paper ",
                                   "report a-": "report a-file.txt "}.items():
                    os.write(terminal, f"impart {line}\t".encode())
                    self.assertIn(seen, read_until(terminal, seen))
                    os.write(terminal, b"\x15")  # deletes the line


class ManualTest(CommandTest):
    def test_manual_pages_say_what_help_says(self):
        page = self.succeed("man", "train").replace("\\-", "-")
        for part in [".TH impart-train 1", "--overwrite", "partition.warmup=3", "Exit codes: 0 done"]:
            self.assertIn(part, page)
        self.succeed("man", "--write", "pages")
        names = sorted(os.listdir(self.folder / "pages"))
        self.assertTrue({"impart.1", "impart-train.1", "impart-data-fetch.1"} <= set(names), names)
        if shutil.which("man"):
            for name in names:
                done = subprocess.run(["man", "--warnings", "-l", name], cwd=self.folder / "pages",
                                      env=dict(os.environ, MANWIDTH="120", LC_ALL="C.UTF-8"), text=True,
                                      capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)


if __name__ == "__main__":
    unittest.main()
