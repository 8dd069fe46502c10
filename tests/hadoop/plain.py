"""The answers of the workloads on a corpus, computed by one process without Hadoop: what jobs have to come to."""

import collections
import posixpath
import re
import unicodedata

COMPLEX = r"([A-Z][a-z]+) ([a-z]+ ){1,3}(and|und|et|y|i|of|de|von) ([a-z]+ )?[A-Z][a-z]+"
HIDDEN = re.compile(r"<(script|style)[ >].*?</\1 *>|<!--.*?-->|<[^>]*>|&#?[0-9A-Za-z]+;", re.DOTALL | re.IGNORECASE | re.ASCII)
LINK = re.compile(r'<a [^>]*?href="([^"#?]*)[^"]*"[^>]*>(.*?)</a>', re.DOTALL | re.IGNORECASE | re.ASCII)
LISTED_PAGES = 1000
OF_LINK = 4


def lines(path):
    """Keys and values of a corpus."""
    with open(path, encoding="utf-8", newline="\n") as corpus:
        for line in corpus:
            key, _, value = line.rstrip("\n").partition("\t")
            yield key, value


def is_letter(character):
    return unicodedata.category(character).startswith("L")


def words(text):
    """Letters that follow each other, in lower case."""
    found, word = [], []
    for character in text + " ":
        if is_letter(character):
            word.append(character)
        elif word:
            found.append("".join(word).lower())
            word = []
    return found


def identity(path):
    return dict(lines(path))


def grep(path, pattern):
    """How often each match occurs."""
    expression = re.compile(pattern)
    counts = collections.Counter(match.group() for _, text in lines(path) for match in expression.finditer(text))
    return {match: str(count) for match, count in counts.items()}


def ngram(path, length=3, least=2):
    """Phrases that occur often enough."""
    counts = collections.Counter()
    for _, text in lines(path):
        found = words(text)
        counts.update(" ".join(found[at:at + length]) for at in range(len(found) - length + 1))
    return {phrase: str(count) for phrase, count in counts.items() if count >= least}


def target(path, link):
    """The page that a link leads to; None if it leaves the site."""
    if not link or ":" in link or link.startswith("//"):
        return None
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    return "/" + whole.lstrip("/")


def web_index(path):
    """The pages of each word, the weightiest first."""
    weights = collections.defaultdict(collections.Counter)
    for page, html in lines(path):
        for word in words(HIDDEN.sub(" ", html)):
            weights[word][page] += 1
        for link in LINK.finditer(html):
            to = target(page, link.group(1))
            if to is not None:
                for word in words(HIDDEN.sub(" ", link.group(2))):
                    weights[word][to] += OF_LINK
    index = {}
    for word, pages in weights.items():
        # Java compares strings by units of UTF-16.
        listed = sorted(pages.items(), key=lambda page: (-page[1], page[0].encode("utf-16-be")))[:LISTED_PAGES]
        index[word] = " ".join([str(len(pages))] + [f"{weight} {page}" for page, weight in listed])
    return index
