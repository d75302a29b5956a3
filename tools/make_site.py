#!/usr/bin/env python3
"""Makes the documentation's site: make_site.py IMPART FOLDER [--quick]

Pages are those of docs/, README.md and what else they link to; the command IMPART is asked for its
reference, and trains what the gallery shows. FOLDER/html is the site (python3 -m http.server -d
FOLDER/html), with the API page where there is Doxygen. With --quick there is no API page and no study,
and runs see few examples. Warnings are errors.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages with another name on the site.
RENAMED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md",
           "docs/README.md": "map.md", "docs/results/README.md": "results/index.md",
           "docs/answers/README.md": "answers/index.md"}
LINK = re.compile(r"(\]\(|(?:src|srcset)=\")([^)\s\"#]+)(?=[)\"#])")
BLOCK = re.compile(r"(^```.*?^```$)", re.S | re.M)
QUICK = ["data.train_examples=128", "data.test_examples=64", "threads=1"]
# What the gallery shows: title, folder, what is run, whether also with --quick, words.
GALLERY = [
    ("A study of images", "images", ["study", "presets/studies/quick.yaml", "output=images"], False,
     "Four ways to deal drawn shapes, three seeds each: what may be claimed, and what is hard."),
    ("A run on text", "text", ["train", "presets/lm/generated.yaml", "output=text"], True,
     "A small GPT on text of known difficulty, with its hardest and easiest texts."),
    ("One run", "run", ["train", "presets/quick.yaml", "output=run"], True,
     "A single run: its curves, its workers, its examples."),
]


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


def best_figures(folder):
    found = {kind: sorted(folder.glob(f"{kind}*.svg")) for kind in ["data-map", "workers", "curves"]}
    return [figures[0] for figures in found.values() if figures][:2]


def write_gallery(impart, stage, quick):
    parts = ["# Gallery of reports\n\nMade by this version of impart, when this site was. Each is one file, "
             "which can be sent around.\n"]
    runs = stage.parent / "runs"
    runs.mkdir()
    os.symlink(ROOT / "presets", runs / "presets")
    for title, name, command, is_short, words in GALLERY:
        if quick and not is_short:
            continue
        run(impart, *command, *(QUICK if quick else []), cwd=runs)
        made = f"gallery/{name}"
        run(impart, "report", name, "-o", stage / made, cwd=runs)
        shown = " ".join(["impart", *command])
        parts.append(f"\n## {title}\n\n{words} `{shown}`, then `impart report {name}`.\n\n"
                     f"[Open the report]({made}/report.html)\n")
        parts += [f"\n![{figure.stem}]({figure.relative_to(stage)})\n"
                  for figure in best_figures(stage / made / "figures")]
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
