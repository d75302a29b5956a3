#!/usr/bin/env python3
"""Makes the documentation's site: make_site.py IMPART FOLDER [--quick]

Pages are those of docs/, README.md and what else they link to; the command IMPART is asked for its
reference, and trains or reads what the gallery shows. FOLDER/html is the site (python3 -m http.server
-d FOLDER/html), with the API page where there is Doxygen. With --quick there is no API page, and runs
are short and see few examples. Where IMPART_DATA has dais2023-csv, the gallery has the runs that the
2023 paper published. Warnings are errors.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages with another name on the site.
RENAMED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md",
           "docs/README.md": "map.md", "docs/results/README.md": "results/index.md",
           "docs/answers/README.md": "answers/index.md"}
LINK = re.compile(r"(\]\(|(?:src|srcset)=\")([^)\s\"#]+)(?=[)\"#])")
BLOCK = re.compile(r"(^```.*?^```$)", re.S | re.M)
QUICK = ["epochs=2", "data.train_examples=64", "data.test_examples=32"]
PUBLISHED = pathlib.Path(os.environ.get("IMPART_DATA", "")).resolve() / "dais2023-csv"


class Entry(typing.NamedTuple):
    """A report of the gallery: of what a command leaves in `name`, or of results that were kept."""

    title: str
    name: str
    words: str
    command: str = ""  # without `impart` and the output
    of: str = ""  # what is reported, if not `name`
    pictures: tuple = ("curves",)  # how their names begin, best first


GALLERY = [
    Entry("A study of images", "images", command="study quick", pictures=("data-map", "workers"),
          words="Four ways to deal drawn shapes, three seeds each: what may be claimed, and what is hard."),
    Entry("A study of texts", "texts", command="study text",
          pictures=("data-map", "workers", "curves"),
          words="A small GPT on text of known difficulty, with its hardest and easiest texts."),
    Entry("One run", "run", command="train quick",
          words="A single run: its curves, its examples, with nothing to be compared with."),
    Entry("How much must be exchanged?", "exchange", of="experiments/exchange-fraction/results.csv",
          pictures=("exchange",),
          words="128 workers that start with one or two classes each. What it means is in "
                "[the answer](answers/exchange.md)."),
    Entry("Which visits can be saved?", "selection", of="experiments/gpu/results/selection-fast94.csv",
          pictures=("box-plot",),
          words="Six ways to visit less, up to 39 seeds each. What it means is in "
                "[the answer](answers/selection.md)."),
    Entry("Where do local updates make placement matter?", "local",
          of="experiments/local-placement/results.csv", pictures=("local-updates",),
          words="Workers that agree in every step, or less often, over five placements. What it means is in "
                "[the answer](answers/local.md)."),
]
OF_THE_PAPER = Entry(
    "What was published in 2023", "published", of="--csv dais2023-csv", pictures=("curves", "box-plot"),
    words="The 1 830 runs of the paper that impart repeats, from the files that came with it.")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def place(page):
    """Where a file of the repository is on the site."""
    return RENAMED.get(page, page.removeprefix("docs/"))


def with_links_of_site(text, page):
    """Links from `page`, as the repository has them, made to lead to places on the site."""
    def changed(match):
        target = match[2]
        if "://" in target:
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        return match[1] + os.path.relpath(place(path), os.path.dirname(place(page)) or ".")

    parts = BLOCK.split(text)
    return "".join(part if index % 2 else LINK.sub(changed, part) for index, part in enumerate(parts))


def stage_pages(stage):
    pages = [*RENAMED, *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
    for page in sorted(set(pages)):
        target = stage / place(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(with_links_of_site((ROOT / page).read_text(), page))
    shutil.copytree(ROOT / "docs" / "pictures", stage / "pictures")


def listed_commands(text):
    """Names of the subcommands that a help text lists."""
    listed = text.partition("Subcommands:\n")[2]
    return re.findall(r"^  ([a-z][\w-]*) ", listed, re.M)


def help_of(impart, words=()):
    """(command, its help) of a command and all below it."""
    text = run(impart, *words, "--help")
    yield " ".join(["impart", *words]), text
    for name in listed_commands(text):
        yield from help_of(impart, (*words, name))


def write_reference(impart, stage):
    parts = ["# Commands\n\nWhat `impart … --help` says.\n"]
    parts += [f"\n## {name}\n\n```\n{text.strip()}\n```\n" for name, text in help_of(impart)]
    (stage / "commands.md").write_text("".join(parts))
    parts = ["# Names\n\nWhat `impart list` knows: the names that configurations and commands take.\n"]
    for line in run(impart, "list").splitlines():
        if line.startswith(" "):
            name, meaning = line.split(maxsplit=1)
            parts.append(f"| `{name}` | {meaning.replace('|', chr(92) + '|')} |\n")
        else:
            name, _, meaning = line.partition(": ")
            parts.append(f"\n## {name}\n\n{meaning}\n\n| name | |\n|---|---|\n")
    (stage / "names.md").write_text("".join(parts))


def verdict_of(text):
    """The sentence in bold that a report begins with."""
    return re.search(r"^\*\*(.+)\*\*$", text, re.M)[1]


def pictures_of(text, entry):
    """(what it shows, file) of the first picture of each kind that the report has; of two at most."""
    drawn = re.findall(r"^!\[(.*)\]\((figures/.*\.svg)\)$", text, re.M)
    kinds = [[each for each in drawn if each[1].startswith(f"figures/{kind}")] for kind in entry.pictures]
    return [found[0] for found in kinds if found][:2]


def show(impart, entry, stage, quick):
    """Makes a report and the lines of the gallery about it."""
    runs, made = stage.parent / "runs", f"gallery/{entry.name}"
    said = f"`impart report {entry.of or entry.name}`"
    if entry.command:
        run(impart, *entry.command.split(), f"output={entry.name}", *(QUICK if quick else []), cwd=runs)
        said = f"`impart {entry.command} output={entry.name}`, then {said}"
    run(impart, "report", *(entry.of or entry.name).split(), "-o", stage / made, cwd=runs)
    in_words = stage / made / "report.md"
    text = in_words.read_text()
    in_words.unlink()  # mkdocs would make a page of it, in the place of report.html
    yield f"\n## {entry.title}\n\n{entry.words}\n\n> {verdict_of(text)}\n\n"
    for words, path in pictures_of(text, entry):
        yield f"[![{words}]({made}/{path})]({made}/report.html)\n\n"
    yield f"[Open the report]({made}/report.html), made by {said}.\n"


def write_gallery(impart, stage, quick):
    parts = ["# Gallery of reports\n\nMade by this version of impart, when this site was. Each is one file, "
             "which can be sent around.\n"]
    runs = stage.parent / "runs"
    runs.mkdir()
    for name in ["presets", "experiments"]:
        os.symlink(ROOT / name, runs / name)
    entries = list(GALLERY)
    if PUBLISHED.is_dir():
        os.symlink(PUBLISHED, runs / PUBLISHED.name)
        entries.append(OF_THE_PAPER)
    for entry in entries:
        parts += show(impart, entry, stage, quick)
    (stage / "gallery.md").write_text("".join(parts))


def add_api(stage):
    doxygen = shutil.which("doxygen")
    if doxygen is None:
        return
    run(sys.executable, ROOT / "tools" / "make_api.py", doxygen, stage.parent / "api")
    shutil.copytree(stage.parent / "api" / "html", stage / "api")
    with (stage / "api.md").open("a") as page:
        page.write("\n[All headers, types and functions](api/index.html)\n")


def main():
    quick = "--quick" in sys.argv
    arguments = [each for each in sys.argv[1:] if each != "--quick"]
    impart, folder = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    stage = folder / "pages"
    stage_pages(stage)
    write_reference(impart, stage)
    write_gallery(impart, stage, quick)
    if not quick:
        add_api(stage)
    settings = (ROOT / "docs" / "mkdocs.yml").read_text().replace("THEME", str(ROOT / "docs" / "theme"))
    (folder / "mkdocs.yml").write_text(f"{settings}docs_dir: {stage}\nsite_dir: {folder / 'html'}\n")
    said = run("mkdocs", "build", "--strict", "--quiet", "--config-file", folder / "mkdocs.yml")
    if said:
        sys.exit(said)
    print(folder / "html" / "index.html")


if __name__ == "__main__":
    main()
