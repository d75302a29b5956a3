"""What a CMakeLists.txt says about its library, without running CMake."""

import dataclasses
import re

COMMAND = re.compile(r"(\w+)\s*\(")
WORD = re.compile(r'"((?:\\.|[^"\\])*)"|([^\s"]+)')


@dataclasses.dataclass
class Target:
    """A library made by impart_layer, with all that any branch of the file gives to it."""
    name: str
    named: list = dataclasses.field(default_factory=list)  # files and folders
    added: list = dataclasses.field(default_factory=list)  # sources beside those of the folder
    links: list = dataclasses.field(default_factory=list)


def commands(text):
    """(command, words) in order; comments are left out."""
    text = re.sub(r'("(?:\\.|[^"\\])*")|#[^\n]*', lambda match: match[1] or "", text)
    at = 0
    while match := COMMAND.search(text, at):
        end, depth = match.end(), 1
        while depth and end < len(text):
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        words = [quoted or plain for quoted, plain in WORD.findall(text[match.end():end - 1])]
        yield match[1], words
        at = end


def expand(words, values):
    """Words with ${variables} replaced by all that the file sets them to."""
    for word in words:
        match = re.fullmatch(r"\$\{(\w+)\}", word)
        if match and match[1] in values:
            yield from values[match[1]]
        else:
            yield word


def read_targets(text):
    """Every library of the file, by its name."""
    targets, values = {}, {}
    for command, words in commands(text):
        if command == "set" and len(words) > 1:
            values.setdefault(words[0], []).extend(words[1:])
        elif command == "list" and words[0] == "APPEND":
            values.setdefault(words[1], []).extend(words[2:])
        elif command == "impart_layer":
            target = targets.setdefault(words[0], Target(words[0]))
            kind = None
            for word in expand(words[1:], values):
                if word in ("DEPENDS", "WITHOUT", "ALONE"):
                    kind = word
                elif kind == "DEPENDS":
                    target.links.append(word)
                else:
                    target.named.append(word)
        elif command == "impart_use_torch":
            add_links(targets, words[0], ["impart::torch"])
        elif command == "target_link_libraries":
            add_links(targets, words[0], expand(words[1:], values))
        elif command == "target_sources":
            target = targets.get(words[0].removeprefix("impart_"))
            if target:
                target.added.extend(w for w in expand(words[2:], values) if w != "PRIVATE")
    return targets


def add_links(targets, name, words):
    target = targets.get(name.removeprefix("impart_"))
    if target:
        for word in words:
            wrapped = re.fullmatch(r"\$<BUILD_INTERFACE:(.*)>", word)
            target.links.append(wrapped[1] if wrapped else word)
