"""What C++ sources say without a compiler: includes, namespaces, and the types they define."""

import dataclasses
import functools
import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/'                        # comments
    r'|R"([^()\\ ]{0,16})\(.*?\)\1"'             # raw strings
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"      # not the ' of 1'000
    r'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',           # preprocessor
    re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|\S")
WORD = re.compile(r"[A-Za-z_]\w*$")
TYPE_WORDS = {"struct", "class", "enum", "union"}


@dataclasses.dataclass
class Type:
    """A type defined at namespace scope; `hidden`: only its own file can name it."""
    namespace: str
    name: str
    line: int
    hidden: bool


@dataclasses.dataclass
class Block:
    """An outermost namespace block and the tokens in it."""
    namespace: str
    line: int
    tokens: list

    def is_empty_of_definitions(self):
        """Whether it holds only forward declarations and names lifted from elsewhere."""
        text = " ".join(word for word, _ in self.tokens)
        text = re.sub(r"template <[^<>]*> ", "", text)
        statement = (r"((struct|class|enum|enum class|union) \w+( : [\w: ]+)? ;"
                     r"|using (:: )?\w+( :: \w+)+ ;|namespace [\w: ]* \{|\})")
        return re.fullmatch(rf"({statement} ?)*", text) is not None


@functools.cache
def includes(text):
    """(line, path) of every #include."""
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in INCLUDE.finditer(text)]


@functools.cache
def tokens(text):
    """(token, line) without comments, strings and preprocessor lines."""
    bare = NOISE.sub(lambda match: "\n" * match[0].count("\n") + " ", text)
    found, line, at = [], 1, 0
    for match in TOKEN.finditer(bare):
        line += bare.count("\n", at, match.start())
        at = match.start()
        found.append((match[0], line))
    return found


def after_matching(words, start, opening, closing):
    """The position after the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(words)):
        depth += (words[at][0] == opening) - (words[at][0] == closing)
        if depth == 0:
            return at + 1
    return len(words)


def namespace_name(words, at):
    """Of the `namespace` at this position: its name ("" if it has none) and the position of its
    brace; (None, position) if it opens nothing (an alias)."""
    name = ""
    at += 1
    while at < len(words) and words[at][0] not in "{;=":
        if words[at][0] == "[":
            at = after_matching(words, at, "[", "]")
            continue
        if words[at][0] != "inline":
            name += words[at][0]
        at += 1
    return (name if at < len(words) and words[at][0] == "{" else None), at


@functools.cache
def blocks(text):
    """The outermost namespace blocks."""
    return list(blocks_in(tokens(text)))


def blocks_in(words):
    at = 0
    while at < len(words):
        word, line = words[at]
        if word == "namespace" and (at == 0 or words[at - 1][0] != "using"):
            name, at = namespace_name(words, at)
            if name is None:
                continue
            end = after_matching(words, at, "{", "}")
            yield Block(name, line, words[at + 1:end - 1])
            at = end
        elif word == "{":
            at = after_matching(words, at, "{", "}")
        else:
            at += 1


def type_name(words, at):
    """The name of the type that `struct`, `class`, `enum` or `union` at this position defines, or
    None if it only declares one, or specialises a template."""
    at += 1
    name = None
    while at < len(words):
        word = words[at][0]
        if word in ("[", "("):
            at = after_matching(words, at, word, "])"["[(".index(word)])
            continue
        if word == "alignas":
            at = after_matching(words, at + 1, "(", ")")
            continue
        if name is None and word in ("class", "struct"):
            at += 1
            continue
        if name is None:
            if not WORD.match(word):
                return None
            name = word
        elif word == "{":
            return name
        elif word == ":" or word == "final":
            return name if any_brace_before_semicolon(words, at) else None
        else:
            return None
        at += 1
    return None


def any_brace_before_semicolon(words, at):
    return next(word for word, _ in words[at:] if word in "{;") == "{"


@functools.cache
def types(text):
    """The types that are defined at namespace scope."""
    return list(types_in(tokens(text), "", False))


def types_in(words, namespace, hidden):
    at = 0
    while at < len(words):
        word, line = words[at]
        if word == "namespace" and (at == 0 or words[at - 1][0] != "using"):
            name, at = namespace_name(words, at)
            if name is None:
                continue
            end = after_matching(words, at, "{", "}")
            inner = "::".join(part for part in (namespace, name) if part)
            yield from types_in(words[at + 1:end - 1], inner, hidden or name == "")
            at = end
        elif word == "template":
            at = after_matching(words, at + 1, "<", ">")
        elif word in TYPE_WORDS:
            name = type_name(words, at)
            if name:
                yield Type(namespace, name, line, hidden)
            at += 2 if words[at + 1][0] in ("class", "struct") else 1
        elif word == "using" and at + 2 < len(words) and words[at + 2][0] == "=":
            yield Type(namespace, words[at + 1][0], line, hidden)
            at += 3
        elif word in "{(":
            at = after_matching(words, at, word, "})"["{(".index(word)])
        else:
            at += 1
