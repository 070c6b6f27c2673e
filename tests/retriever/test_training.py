"""Training of word vectors: gradients, what is held out, the weights, and when nothing is kept."""

from __future__ import annotations

import numpy as np
import pytest
from retriever.made_examples import TOPICS, examples, requests

from codenav.core.errors import UsageError
from codenav.retrieval.dense import fitting, making, training
from codenav.retrieval.dense.examples import Examples
from codenav.retrieval.dense.fitting import Held, Weights
from codenav.retrieval.dense.memory import Memory
from codenav.retrieval.dense.training import Bag, Lexical
from codenav.retrieval.dense.words import WordVectors, tokens


def test_the_gradients_are_those_of_the_loss() -> None:
    drawing = np.random.default_rng(3)
    rows = drawing.standard_normal((9, 6)).astype(np.float64)
    asked = Bag([np.array([1, 2, 2]), np.array([3, 0])])
    told = Bag([np.array([2, 4]), np.array([5, 6, 6]), np.array([7, 1])])
    gold = np.array([[1, 0, 1], [0, 1, 0]], dtype=np.float64)
    _, gradients = training.loss(asked, told, gold, rows)
    found = np.zeros_like(rows)
    for places, grown in gradients:
        found[places] += grown
    for row, column in drawing.integers((1, 0), (8, 6), (20, 2)):
        moved = [rows.copy(), rows.copy()]
        moved[0][row, column] += 1e-5
        moved[1][row, column] -= 1e-5
        high, low = (training.loss(asked, told, gold, each)[0] for each in moved)
        assert found[row, column] == pytest.approx((high - low) / 2e-5, abs=1e-4)
    assert not found[0].any(), "the row of unknown words stays zero"


def test_training_brings_requests_near_to_what_answered_them() -> None:
    data = examples()
    made = making.make([data], epochs=4)
    vectors = made.vectors
    asked = vectors.encode([vectors.places("umbrella for the rain")])
    texts = vectors.encode([vectors.places(text) for text in data.texts])
    assert data.names[int((texts @ asked[0]).argmax())] == "set.current_forecast"
    report = made.report
    assert report.requests == report.held_out == len(requests()) and report.callables == len(TOPICS)
    assert report.after["ndcg@5"] > 90 > report.before["ndcg@5"]
    assert made.weights is not None and made.weights.memory > 0.2
    assert made.memory is not None and set(made.memory.names) == set(TOPICS)


def test_the_same_examples_make_the_same_retriever() -> None:
    one, two = making.make([examples(40)], epochs=2), making.make([examples(40)], epochs=2)
    assert np.array_equal(one.vectors.rows, two.vectors.rows) and one.weights == two.weights


def test_nothing_is_made_where_training_does_not_help() -> None:
    data = examples()
    right = dict(zip(data.requests, data.gold, strict=True))
    perfect = examples(first=lambda request: {right[request][0]: 1.0})
    with pytest.raises(making.NoBetter, match=r"ndcg@5 100\.0 before and 100\.0 after\): nothing is written"):
        making.make([perfect], epochs=1)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (Examples([], [], [], [], dict), "nothing to train on: there are no callables"),
        (Examples(["a.f"], ["f"], ["x"], [[0]], dict), "nothing to train on: there is 1 callable"),
        (Examples(["a.f", "a.g"], ["f", "g"], [], [], dict), "at least 10 requests .*, and there are no requests"),
        (Examples(["a.f", "a.g"], ["f", "g"], ["x"], [[0]], dict), "and there is 1 request"),
        (Examples(["a.f", "a.g"], ["f", "g"], ["x"] * 12, [[0]] * 12, dict), "answered by the same callable"),
    ],
)
def test_too_little_to_train_on_is_told_in_a_line(data: Examples, told: str) -> None:
    with pytest.raises(UsageError, match=told) as raised:
        making.make([data])
    assert raised.value.hint and "\n" not in str(raised.value)


def test_wordings_of_one_task_are_held_out_together() -> None:
    names = [f"a.f{number}" for number in range(9)]
    tasks = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 4, 8], [1, 5, 6]]
    gold = [task for task in tasks for _ in range(4)]
    data = Examples(names, names, [f"wording {number}" for number in range(20)], gold, dict)
    parts = data.parts(5).reshape(5, 4)
    assert (parts == parts[:, :1]).all()
    single = Examples(names, names, [f"wording {number}" for number in range(40)], [[0]] * 40, dict).parts(5)
    assert len(set(single)) == 5, "one callable recurs in different tasks"


def held(count: int, good: int) -> list[Held]:
    """Requests in which one feature tells what is right and the others tell nothing."""
    drawing = np.random.default_rng(5)
    found = []
    for _ in range(count):
        features = drawing.random((30, 3)).astype(np.float32)
        right = int(drawing.integers(30))
        features[right, good] = 1.5
        found.append(Held(features, [right]))
    return found


@pytest.mark.parametrize("good", [0, 1, 2])
def test_weights_follow_what_tells(good: int) -> None:
    weights = fitting.fit(held(200, good))
    shares = [weights.words, weights.meaning, weights.memory]
    assert max(shares) == shares[good] and sorted(shares)[1] < 0.3 * shares[good]


def test_a_few_requests_move_the_weights_little() -> None:
    few = fitting.fit(held(2, 1))
    assert few.meaning / few.words < 3 < fitting.fit(held(200, 1)).meaning
    assert fitting.fit([]) == Weights()


def test_recall_and_ndcg() -> None:
    scores = [np.array([3.0, 0, 2, 1, 0, 0, 0], dtype=np.float32)]
    found = fitting.measured(scores, [[2, 3, 4]])
    assert found["recall@5"] == pytest.approx(66.7)
    gain = (1 / np.log2(3) + 1 / np.log2(4)) / (1 + 1 / np.log2(3) + 1 / np.log2(4))
    assert found["ndcg@5"] == pytest.approx(100 * gain, abs=0.06)
    assert fitting.measured([np.zeros(3, dtype=np.float32)], [[0]])["recall@5"] == 0, "what has no score is not found"


def test_memory_knows_what_answered_such_requests() -> None:
    names = list(TOPICS)
    every = requests()
    memory = Memory.of([text for text, _ in every], names, [[names.index(name)] for _, name in every])
    scores = dict(zip(memory.names, memory.scores("Is there an airport for the holiday?"), strict=True))
    assert max(scores, key=lambda name: scores[name]) == "set.book_flight" and scores["set.book_flight"] > 0.5
    assert max(memory.scores("quantum entanglement")) == 0
    assert max(memory.scores("")) == 0
    diluted = memory.scores("the airport entanglement of quantum chromodynamics and gluons")
    assert max(diluted) < max(memory.scores("airport"))


def test_hard_negatives_are_what_words_find() -> None:
    found = Lexical(["send a message", "send a file", "draw a circle"])
    assert found.best("sending files", 3) == [1, 0]
    assert found.best("nothing here", 3) == [] and Lexical([]).best("x", 3) == []


def test_words_and_their_stems_are_looked_up_and_unknown_ones_learnt() -> None:
    assert tokens("The getUserNames of it") == ["get", "#get", "user", "#user", "names", "#name"]
    vectors = WordVectors()
    assert not vectors.places("zzqqx").any(), "an unknown word has no row"
    assert (vectors.places("zzqqx", new=True) > 0).all(), "in training it gets one"
    (zero,) = vectors.encode([vectors.places("")])
    assert not zero.any()
    assert np.linalg.norm(vectors.encode([vectors.places("directory of files")])[0]) == pytest.approx(1)
