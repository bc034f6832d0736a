"""IDs that are numbers are written in digits, wherever a file or an option names a vertex: one rule for all of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from input_files import edges_of, opened, read, write

import gstream
from gstream.algorithms.support.vertex_files import find_numbers, find_vertices
from pagestore.errors import InputError, UsageError
from pagestore.inputs.idspelling import meant

READ = {"5": 5, "007": 7, "+5": 5, "-0": 0, "0" * 30 + "9": 9}
REFUSED = {  # spelling: the number that it would be, None where it would be none
    "1e1": 10, "1E+1": 10, "12.0": 12, "12.": 12, "1_0": 10, "0x10": 16, "0b11": 3, "0o7": 7, "\uff11\uff12": 12,
    "\u0661\u0660": 10, "10e-1": 1, "+1e1": 10, "1.5": None, "-1e1": None, "nan": None, "inf": None, "1e-1": None,
    "1e19": None, "1e999999999": None, "\u00b2": None, "five": None, "5L": None, "1__0": None, "0x": None, "--5": None,
}  # fmt: skip


def test_what_a_spelling_would_be():
    assert {text: meant(text) for text in REFUSED} == REFUSED
    assert meant("1,000") == meant("1'000") == meant("1_000") == meant("1\u00a0000") == 1000
    assert meant(" 5 ") == 5 and meant("9223372036854775807.0") == (1 << 63) - 1
    assert meant("9223372036854775808.0") is None and meant("1" + "0" * 5000 + ".0") is None


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ids")
    np.save(folder / "a.npy", np.stack([np.arange(20), np.arange(1, 21)], 1))
    from pagestore.convert import ConvertOptions, convert

    convert(opened(folder / "a.npy", folder), folder / "a.gs", ConvertOptions(page_bytes=4096))
    with gstream.open(folder / "a.gs") as opened_graph:
        yield opened_graph


@pytest.mark.parametrize("text", READ)
def test_digits_with_a_sign_or_zeros_ahead(graph, tmp_path, text):
    assert read(tmp_path, "a.txt", f"1 2\n{text} 3\n", string_ids=False)[1] == (READ[text], 3)
    assert read(tmp_path, "a.csv", f'1,2\n"{text}",3\n', string_ids=False)[1] == (READ[text], 3)
    if not text.startswith("0"):  # there no option says what zeros are
        assert read(tmp_path, "a.adj", f"1 2\n3 {text}\n")[1] == (3, READ[text])
    assert graph.khop(text, radius=0).to_numpy()["distance"].tolist().index(0) == READ[text]
    assert find_vertices(graph._store, write(tmp_path, "v.txt", f"{text}\n"), "node").tolist() == [READ[text]]
    assert find_numbers(graph._store, write(tmp_path, "p.txt", f"{text},1\n"), "--initial", "value")[0] == READ[text]
    assert find_numbers(graph._store, {text: 1.0}, "--initial", "value")[0] == READ[text]


@pytest.mark.parametrize("parted", [" ", ",", "\t"])
@pytest.mark.parametrize("more", [1, 12_000])  # beyond the first lines, too
def test_numbers_with_zeros_ahead_and_without_may_be_two_vertices(tmp_path, parted, more):
    """One graph or another: nobody guesses which."""
    line = "{}" + parted + "{}\n"
    plain, padded = line.format(70, 80) * more, line.format("007", "018") * more
    seen = "IDs have no zeros ahead; 7 and 007 may" if more > 1 else "zeros ahead and 3 digits; 70 and 070 may be two"
    for text, word, number, said in (
        (plain + line.format(10, "007"), "007", 7, seen),
        (plain + line.format('"007"', 10), "007", 7, seen),
        (plain + line.format(10, "+07"), "+07", 7, "vertex ID +07 is 7 as a number, and other IDs have no zeros ahead"),
        (
            padded + line.format(7, 100),
            "7",
            7,
            "vertex ID 7 has fewer digits than others, which have zeros ahead and 3",
        ),
        (padded + line.format(100, "0"), "0", 0, "vertex ID 0 has fewer digits"),
        (padded + line.format(100, "0100"), "0100", 100, "vertex ID 0100 is 100 as a number, and other IDs have 3 di"),
    ):
        with pytest.raises(InputError, match="Pass --string-ids if they are two, --number-ids if one") as error:
            read(tmp_path, "a.csv", text)
        where = 1 if "70 and 070" in said else more + 1
        assert said in str(error.value) and f"a.csv:{where}:" in str(error.value)
        assert number in read(tmp_path, "a.csv", text, string_ids=False)[-1]
        if more == 1:
            assert word in edges_of(opened(write(tmp_path, "a.csv", text), tmp_path, string_ids=True))[-1]
    assert read(tmp_path, "b.csv", padded + line.format(100, 2000))[-1] == (100, 2000)
    assert read(tmp_path, "b.csv", line.format(0, 1) * more + line.format(10, 0))[-1] == (10, 0)


def test_files_of_one_graph_write_their_numbers_alike(tmp_path):
    padded, plain = write(tmp_path, "a.txt", "001 012\n"), write(tmp_path, "b.txt", "100 12\n")
    for paths in ([padded, plain], [plain, padded]):
        with pytest.raises(InputError, match=r"b\.txt:1:5: vertex ID 12 has fewer digits than others"):
            edges_of(opened(paths, tmp_path))
        assert sorted(edges_of(opened(paths, tmp_path, string_ids=False))) == [(1, 12), (100, 12)]
    with pytest.raises(UsageError, match="--number-ids is about numbers, but the IDs here are text"):
        opened(write(tmp_path, "c.txt", "ann bob\n"), tmp_path, string_ids=False)


@pytest.mark.parametrize("text", REFUSED)
def test_other_spellings_say_what_they_would_be(graph, tmp_path, text):
    number = REFUSED[text]
    blanks, commas = "1 2\n" * 60, "1,2\n" * 60  # more lines than are looked at first
    for name, content in (
        ("a.txt", f"{blanks}{text} 3\n"),
        ("a.csv", f'{commas}"{text}",3\n'),
        ("a.adj", f"{blanks}3 {text}\n"),
    ):
        with pytest.raises(InputError, match=r":61:[13]: vertex ID ") as error:
            read(tmp_path, name, content)
        said = f"{text} is not written in digits, as IDs are, and would be {number}; .* Write {number}, "
        assert bool(re.search(re.escape(text) + said[len(text) :], str(error.value))) == (number is not None), error
    asked = (
        (lambda: graph.bfs(text), UsageError, "source "),
        (lambda: graph.subgraph([text]), UsageError, "node "),
        (lambda: graph.subgraph(write(tmp_path, "v.txt", f"1\n{text}\n")), InputError, "v.txt:2: node "),
        (lambda: graph.rwr(text), UsageError, "source "),
        (lambda: graph.pagerank(personalization={text: 1.0}), InputError, "personalization vertex "),
        (lambda: graph.pagerank(personalization=write(tmp_path, "p.txt", f"{text}\t1\n")), InputError, "p.txt:1: "),
    )
    for call, kind, where in asked:
        with pytest.raises(kind, match="is not a vertex of .*, whose IDs are whole numbers") as error:
            call()
        assert where in str(error.value) and text in str(error.value)
        spelled = f"whole numbers written in digits, and this would be {number}. Type {number}."
        assert str(error.value).endswith(spelled) == (number is not None), error
