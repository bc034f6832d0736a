"""Text edge lists: separators, comments, headers, weights, names, encodings."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from input_files import edges_of, opened, read, write

from pagestore.errors import InputError, UsageError
from pagestore.inputs.base import InputOptions
from pagestore.inputs.sniff import sniff
from pagestore.inputs.streams import ByteStream

PAIR = [(1, 2), (3, 4)]
TRIPLE = [(1, 2, 0.5), (3, 4, 7.0)]

LAYOUTS = {
    "spaces": "1 2\n3 4\n",
    "tabs": "1\t2\n3\t4\n",
    "commas": "1,2\n3,4\n",
    "semicolons": "1;2\n3;4\n",
    "bars": "1|2\n3|4\n",
    "comma and space": "1, 2\n3, 4\n",
    "mixed blanks": "1\t2\n  3 \t 4  \n",
    "blanks around": " 1  2 \n3\t4",
    "no last line feed": "1 2\n3 4",
    "CRLF": "1 2\r\n3 4\r\n",
    "CRLF commas": "1,2\r\n3,4\r\n",
    "BOM": "\ufeff1 2\n3 4\n",
    "BOM and header": "\ufeffsource,target\r\n1,2\r\n3,4\r\n",
    "number sign": "# Nodes: 4 Edges: 2\n# FromNodeId\tToNodeId\n1\t2\n3\t4\n",
    "percent": "% sym unweighted\n1 2\n%\n3 4\n",
    "comments inside": "1 2\n  # no edge\n\n\n3 4\n#",
    "header": "src,dst\n1,2\n3,4\n",
    "unknown header": "a b\n1 2\n3 4\n",
    "header turned round": "to\tfrom\n2\t1\n4\t3\n",
    "quoted": '"1","2"\n"3",4\n',
    "quoted among blanks": '"1" "2"\n3 "4"\n',
    "plus sign": "1 2\n+3 +4\n",
    "leading zeros": "01 02\n03 04\n",
    "other columns": "1 2 friend\n3 4 foe\n",
    "words with blanks": "1,2,best friend\n3,4,foe of old\n",
    "header and words": "source,since,target\n1,May 1st,2\n3,,4\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pairs(tmp_path, layout):
    assert read(tmp_path, "web.txt", LAYOUTS[layout]) == PAIR or sorted(
        read(tmp_path, "web.txt", LAYOUTS[layout])
    ) == sorted(PAIR)


WEIGHTED = {
    "third column": "1 2 0.5\n3 4 7\n",
    "commas": "1,2,.5\n3,4,7.\n",
    "exponents": "1 2 5e-1\n3 4 0.7E+1\n",
    "header": "source,target,weight\n1,2,0.5\n3,4,7\n",
    "header elsewhere": "weight,source,target\n0.5,1,2\n7,3,4\n",
    "names in a comment": "# source target time weight\n1 2 99 0.5\n3 4 98 7\n",
    "more columns": "from to km year\n1 2 0.5 1082040961\n3 4 7 1082155839\n",
    "empty columns": "1,2,0.5,,\n3,4,7,,\n",
    "many digits": "1 2 0.50000000000000000000000000\n3 4 700000000000000000000000e-23\n",
}


@pytest.mark.parametrize("layout", WEIGHTED)
def test_weights(tmp_path, layout):
    assert read(tmp_path, "web.txt", WEIGHTED[layout]) == TRIPLE


def test_weight_column(tmp_path):
    text = "from,to,hops,km\n1,2,9,0.5\n3,4,8,7\n"
    assert read(tmp_path, "a.csv", text) == [(1, 2, 9.0), (3, 4, 8.0)]
    assert read(tmp_path, "a.csv", text, weight_column=4) == TRIPLE
    assert read(tmp_path, "a.csv", text, weight_column="km") == TRIPLE
    assert read(tmp_path, "a.csv", text, weight_column="4") == TRIPLE
    assert read(tmp_path, "a.csv", text, weights=False) == PAIR


def test_columns_of_source_and_target(tmp_path):
    text = "id,follower,followee\n7,1,2\n8,3,4\n"
    assert read(tmp_path, "a.csv", text, source_column="follower", target_column="followee") == PAIR
    assert read(tmp_path, "a.csv", text, source_column=2, target_column=3) == PAIR
    assert read(tmp_path, "a.csv", text, source_column=2, target_column=3, weight_column="id") == [(1, 2, 7), (3, 4, 8)]
    assert read(tmp_path, "a.txt", "9 1 2\n9 3 4\n", source_column="2", target_column="3") == PAIR
    named = "id,follower,followee\n7,ann,bob\n8,bob,carl\n"  # a column that an option names is line 1's: a header
    found = read(tmp_path, "a.csv", named, source_column="follower", target_column="followee")
    assert sorted(found) == [("ann", "bob"), ("bob", "carl")]
    with pytest.raises(UsageError, match=r"--source-column boss: no such column \(3 columns; id, follower, followee\)"):
        read(tmp_path, "a.csv", text, source_column="boss", target_column="id")
    none = r"--source-column a: no such column \(2 columns; no header line was found; the first line has 1: 1, 2: 2\)"
    with pytest.raises(UsageError, match=none + r"\. Give a number\.$"):
        read(tmp_path, "a.csv", "1,2\n", source_column="a", target_column="b")
    with pytest.raises(UsageError) as error:
        read(tmp_path, "a.csv", "Konto,an\nann,bob\n", source_column="konto", target_column="to")
    assert str(error.value).endswith(
        f"a.csv: --source-column konto: no such column (2 columns; no header line was found; the first line has "
        f"1: Konto, 2: an). Give a number; if that line names columns: gstream convert {tmp_path / 'a.csv'} STORE "
        f"--header --source-column N --target-column N."
    )
    short = (
        r"--source-column konto: no such column \(the header has 3: 1: konto, 2: an, 3: betrag; the lines below have 4"
    )
    with pytest.raises(UsageError, match=short):
        read(tmp_path, "a.csv", "konto,an,betrag\na,b,1,5\nb,c,2,5\n", source_column="konto", target_column="an")
    np.save(tmp_path / "a.npy", np.zeros((1, 2), np.int64))
    with pytest.raises(UsageError, match="--source-column and --target-column are for text, Parquet and Arrow, not"):
        opened(tmp_path / "a.npy", tmp_path, source_column=1, target_column=2)


def test_weights_are_the_nearest_floats(tmp_path):
    numbers = ["0.1", "1e23", "9007199254740993", "2.2250738585072014e-308", "1.7976931348623157e308",
               "-0.0", "3.14159265358979323846264338327950288", "123456789012345678901234567890",
               "1e-400", "5e-324"]  # fmt: skip
    text = "".join(f"{n} 0 {number}\n" for n, number in enumerate(numbers))
    found = read(tmp_path, "w.txt", text)
    right = {"1e-400": 5e-324}  # the least above 0, as it is not 0
    assert [repr(weight) for _, _, weight in found] == [repr(right.get(each, float(each))) for each in numbers]


def test_ids_to_the_limit(tmp_path):
    top = (1 << 63) - 1
    assert read(tmp_path, "a.txt", f"0 {top}\n{top} 1\n") == [(0, top), (top, 1)]


def test_names(tmp_path):
    assert read(tmp_path, "a.txt", "bob alice\nalice carol\n") == [("bob", "alice"), ("alice", "carol")]
    source = opened(write(tmp_path, "b.txt", "z a 1\nä Z 2\nz é 3\n"), tmp_path)
    assert sorted(edges_of(source)) == sorted([("z", "a", 1.0), ("ä", "Z", 2.0), ("z", "é", 3.0)])
    names = [source.names[n] for n in range(source.vertices)]
    assert names == sorted(names, key=str.encode) == ["Z", "a", "z", "ä", "é"]
    assert source.vertices == 5 and source.replayable


def test_names_with_blanks_and_quotes(tmp_path):
    text = 'source,target\n"Smith, J",Doe\nDoe,"say ""hi"""\nNew York , Boston\n'
    assert sorted(read(tmp_path, "a.csv", text)) == [
        ("Doe", 'say "hi"'), ("New York", "Boston"), ("Smith, J", "Doe")]  # fmt: skip
    assert read(tmp_path, "a.tsv", "New York\tSão Paulo\n") == [("New York", "São Paulo")]


def test_string_ids_by_option(tmp_path):
    assert sorted(read(tmp_path, "a.txt", "1 10\n2 01\n", string_ids=True)) == [("1", "10"), ("2", "01")]


def test_mixed_ids_are_names_from_the_first_line(tmp_path):
    assert sorted(read(tmp_path, "a.txt", "x 1\n2 3\ny 4\nz w\n")) == [("2", "3"), ("x", "1"), ("y", "4"), ("z", "w")]


def test_several_files(tmp_path):
    paths = [write(tmp_path, "a.txt", "1 2\n"), write(tmp_path, "b.csv", "3,4\n")]
    source = opened(paths, tmp_path)
    assert edges_of(source) == PAIR and edges_of(source) == PAIR
    assert source.name.endswith("a.txt and 1 more")
    assert source.position() == source.total_bytes == 8


def test_names_in_one_file_make_all_names(tmp_path):
    paths = [write(tmp_path, "a.txt", "1 2\n"), write(tmp_path, "b.txt", "x 2\n")]
    assert sorted(edges_of(opened(paths, tmp_path))) == [("1", "2"), ("x", "2")]


def test_vertices_and_base(tmp_path):
    path = write(tmp_path, "a.txt", "1 2\n3 4\n")
    source = opened(path, tmp_path, num_vertices=9)
    assert (source.vertices, source.id_base) == (9, 0)
    source = opened(path, tmp_path, num_vertices=4, id_base=1)
    assert (source.vertices, source.id_base, edges_of(source)) == (4, 1, PAIR)
    assert opened(path, tmp_path).vertices is None


def test_no_edges_but_vertices(tmp_path):
    assert read(tmp_path, "a.txt", "# nothing\n", num_vertices=3) == []


def test_small_chunks(tmp_path):
    text = "".join(f"{n} {n + 1}\n" for n in range(1000))
    source = opened(write(tmp_path, "a.txt", text), tmp_path, chunk_edges=7)
    assert max(len(chunk) for chunk in source.chunks()) == 7
    assert edges_of(source) == [(n, n + 1) for n in range(1000)]


def test_replay_and_position(tmp_path):
    source = opened(write(tmp_path, "a.txt", "1 2\n3 4\n"), tmp_path)
    assert source.replayable and source.total_bytes == 8 and source.position() == 0
    assert edges_of(source) == edges_of(source) == PAIR
    assert source.position() == 8


def test_options_that_contradict():
    contradictions = ({"bad_lines": "ignore"}, {"weights": False, "weight_column": 3}, {"num_vertices": -1})
    for options in (*contradictions, {"threads": 0}, {"chunk_edges": 0}):
        with pytest.raises(UsageError):
            InputOptions(**options)


def test_an_empty_weight_is_a_bad_line_on_any_line(tmp_path):
    for text, line in (("1,2,\n2,3,4\n", 1), ("1,2,4\n2,3,\n", 2), ("1,2,\n3,4,\n5,6,7\n", 1)):
        with pytest.raises(InputError, match=rf"a\.csv:{line}:5: the weight is missing"):
            read(tmp_path, "a.csv", text)
    assert read(tmp_path, "a.csv", "1,2,\n3,4,\n") == PAIR
    assert sorted(read(tmp_path, "a.csv", "1,2,\n3,4,7\n", weights=False)) == PAIR


def test_column_of_words_is_no_weight_but_one_word_is_a_bad_line(tmp_path):
    assert read(tmp_path, "a.txt", "1 2 x\n3 4 5\n") == PAIR


def test_words_above_a_column_of_numbers_are_a_header(tmp_path):
    """Also where vertices have names, so that no number stands where an ID would."""
    named = "alice,bob,2\nbob,carol,3\n"
    for header in ("person,friend,weight", "person,friend,amount", "a,b,c"):
        layout = sniffed(tmp_path, f"{header}\n{named}")
        assert (layout.skip_lines, layout.rules.weight) == (1, 2)
    assert sniffed(tmp_path, named).skip_lines == 0
    assert sniffed(tmp_path, "person,friend\nalice,bob\nbob,friend\n").skip_lines == 0
    assert sniffed(tmp_path, "person,friend\nalice,bob\n", header=True).header == ("person", "friend")
    assert sniffed(tmp_path, f"person,friend,weight\n{named}", header=False).skip_lines == 0


def test_what_might_be_an_edge_is_no_header(tmp_path):
    for text in (":,:\n0,0\n", "?,a\n0,0\n", ",\n0,0\n"):
        assert sniffed(tmp_path, text).skip_lines == 0  # a bad line, which is told, not a header
    for names in ("a,b\n0,0\n", "alice,bob\n1,2\n", "alice,bob,\n1,2,x\n"):
        assert sniffed(tmp_path, names).skip_lines == 1
        assert sniffed(tmp_path, names, string_ids=True, header=False).skip_lines == 0  # two names more
        with pytest.raises(InputError, match="may name columns, in words that are not known, or be the first edge"):
            sniffed(tmp_path, names, string_ids=True)
    assert sniffed(tmp_path, "alice,bob,cost\n1,2,3\n", string_ids=True).skip_lines == 1


FIRST_EDGES = {  # no line of them is a header
    "a name that a number ends": "Anna 2Pac\nBob 50\nCarl Dave\n",
    "a name that is a number's": "a,b\nc,inf\nd,a\n",
    "missing ones": "NA,null\nnull,nan\n",
    "an exponent": "alice bob\ncarol 1e5\ndave erin\n",
    "a clone": "YWHAE TP53\n1E5 BRCA\n",
    "versions": "python pip\n3.11 23.1\n",
    "numbers mostly": "ann bob\n1 2\n3 4\n5 carl\n",
    "a missing weight": "ann,bob,n/a\ncarl,dave,3\n",
    "a vertex of another edge": "ann,bob,many\nbob,carl,3\ndave,erin,4\n",
    "letters": "u v\nv w\n",
    "short words": "from to\nto city\n",
    "short words alone": "from to\nalice bob\n",
    "letters above letters": "u v w\nv w x\n",
}


@pytest.mark.parametrize("text", FIRST_EDGES)
def test_the_first_edge_is_kept(tmp_path, text):
    path = write(tmp_path, "a.txt", FIRST_EDGES[text])
    with closing(ByteStream(path)) as stream:
        assert sniff(stream, InputOptions()).skip_lines == 0
    assert len(read(tmp_path, "a.txt", FIRST_EDGES[text], weights=False)) == FIRST_EDGES[text].count("\n")


def test_words_that_name_columns_are_a_header(tmp_path):
    """Those that vertices may have for names with numbers below them only, or beside the name of a weight."""
    for words in ("source,target", "src,dst", "Source_ID,Target_ID", "node1,node2", "FromNodeId,ToNodeId"):
        assert sniffed(tmp_path, f"{words}\nalice,bob\n").skip_lines == 1
        assert sniffed(tmp_path, f"{words}\n1,2\n").skip_lines == 1
    for words in ("from,to", "u,v", "tail,head", "from,dst"):
        assert sniffed(tmp_path, f"{words}\n1,2\n3,4\n").skip_lines == 1
        assert sniffed(tmp_path, f"{words}\n1,2\n3,4\n", string_ids=True).skip_lines == 1
        assert sniffed(tmp_path, f"{words},weight\nalice,bob,2\nto,v,3\n").skip_lines == 1
        assert sniffed(tmp_path, f"{words}\nalice,bob\n", header=True).skip_lines == 1
        if words != "u,v":
            assert sniffed(tmp_path, f"{words}\nalice,bob\n").skip_lines == 1
            assert read(tmp_path, "a.txt", f"{words.replace(',', ' ')}\nalice bob\n")[1:] == [("alice", "bob")]
    assert sniffed(tmp_path, "from,to\nalice,bob\nbob,to\n").skip_lines == 0
    assert sniffed(tmp_path, "a,b\n1.0,2.0\n3.0,4.0\n").skip_lines == 1  # told as bad lines, not taken for names


def test_words_of_text_above_numbers_in_any_column_are_a_header(tmp_path):
    for text, ends in (
        ("from,to,relation,since\nann,bob,friend,2019\nbob,carl,boss,2020\n", (0, 1)),
        ("id,from,to,amount,date\n1,ann,bob,3.5,May\n2,bob,carl,4,June\n", (1, 2)),
        ('from,to,weight\nann,bob,"1,5"\nbob,carl,"2,5"\n', (0, 1)),
    ):
        layout = sniffed(tmp_path, text, weights=False)
        assert (layout.skip_lines, (layout.rules.source, layout.rules.target)) == (1, ends)
    for text in (
        "from to relation\nann bob friend\nbob carl boss\n",
        "from,to,n/a\nann,bob,2019\nto,carl,2020\n",
        "ann,bob,lately\nbob,carl,2019\ncarl,dave,2020\n",
    ):
        path = write(tmp_path, "a.txt", text)
        with closing(ByteStream(path)) as stream:
            assert sniff(stream, InputOptions()).skip_lines == 0


def test_an_edge_that_may_be_a_header_is_told(tmp_path):
    """Between blanks: two words that name columns, or one above numbers, or ends counted 1 and 2, above rows that have
    none of it."""
    for text in (
        "# c\nfollower friend\nann bob\n", "From To\nann bob\n", "from to relation\nann bob friend\n",
        "a b since\nann bob 2019\nbob x carl\nbob carl 2020\nx y z\nx y z\nx y z\n",
        "person1 person2\nann bob\n", "gene_1 gene_2 how\nTP53 BRCA1 x\n",
    ):  # fmt: skip
        source = opened(write(tmp_path, "a.txt", text), tmp_path, weights=False, bad_lines="skip")
        line = 1 + text.count("#")
        if "since" not in text:
            assert f"line {line} may be a header; pass --header if it is" in source.doubts[0]
            assert "no header line: line 1 is an edge" in source.assumptions[0]
        for header in (False, True):
            assert not opened(write(tmp_path, "a.txt", text), tmp_path, header=header, weights=False).doubts
    for text in (
        "from to\nto city\n",  # names of vertices
        "name friend\nyear date\n",
        "u v\na b\n",
        "ann friend\nbob carl\n",
        "id name\n",
        "from to 7\nann bob 8\n",
        "v1 v2\nv3 v4\n",  # vertices are called so
        "person2 person1\nann bob\n",
        "from to\n1 2\n",  # found to be a header
    ):
        assert not opened(write(tmp_path, "a.txt", text), tmp_path).doubts


def test_a_word_among_weights_is_a_bad_line(tmp_path):
    with pytest.raises(InputError, match=r"a.txt:1:5: weight 'x' is not a number"):
        read(tmp_path, "a.txt", "1 2 x\n3 4 5\n6 7 8\n")


def test_a_header_is_a_texts(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((1, 2), np.int64))
    with pytest.raises(UsageError, match="--header and --no-header are for text, not for npy"):
        opened(tmp_path / "a.npy", tmp_path, header=True)


def sniffed(tmp_path, text, **options):
    path = tmp_path / "sniffed.csv"
    path.write_text(text)
    with closing(ByteStream(path)) as stream:
        return sniff(stream, InputOptions(**options), ",")


def test_lines_that_the_kernels_leave_to_the_judge(tmp_path):
    """More digits than a machine word has, doubled quotes in long names, lines of separators alone."""
    zeros = "0" * 30
    assert read(tmp_path, "a.txt", f"1 2\n{zeros}3 {zeros}4\n", string_ids=False) == PAIR
    assert read(tmp_path, "a.txt", f"1 2 .5\n{zeros}3 4 1.5\n", string_ids=False) == [(1, 2, 0.5), (3, 4, 1.5)]
    assert read(tmp_path, "a.tsv", "1\t2\n\t\n \t# x\n3\t4\n") == PAIR
    for count in (1, 200):  # shorter and longer than what is searched for the line's end at a time
        assert sorted(read(tmp_path, "a.csv", 'b,a\na,"' + 'x""' * count + '"\n')) == [("a", 'x"' * count), ("b", "a")]


def commented(tmp_path, name, text, **options):
    """Edges of a file, and how many comment lines they were told to have."""
    source = opened(write(tmp_path, name, text), tmp_path, **options)
    edges_of(source)
    return sorted(edges_of(source)), source.skipped.comments


def test_comments_are_counted_and_chosen(tmp_path):
    tags = "cat,#dog\n#dog,bird\n\n  % pig,cow\n"
    assert commented(tmp_path, "a.csv", tags, comments="#%") == ([("cat", "#dog")], 2)
    every = [("#dog", "bird"), ("% pig", "cow"), ("cat", "#dog")]
    assert commented(tmp_path, "a.csv", tags, comments="none") == (every, 0)
    assert commented(tmp_path, "a.csv", tags, comments="%") == ([("#dog", "bird"), ("cat", "#dog")], 1)
    assert commented(tmp_path, "a.csv", 'cat,#dog\n"#dog",bird\n')[1] == 0, "a quoted name begins none"
    assert commented(tmp_path, "a.txt", "# x\n1 2\n!\n\n3 4\n#\n", comments="#!") == (PAIR, 3)
    assert commented(tmp_path, "a.txt", "# x\n% y\nfrom to\n# z\n1 2\n3 4\n") == (PAIR, 3), "also above a header"
    assert commented(tmp_path, "a.txt", "# x\n1 2\n3 9" + "0" * 30 + "\n", bad_lines="skip") == ([(1, 2)], 1)
    paths = [write(tmp_path, "a.txt", "# x\n1 2\n"), write(tmp_path, "b.txt", "# to from\n# x\n3 4\n")]
    source = opened(paths, tmp_path)
    assert edges_of(source) == edges_of(source) == PAIR and source.skipped.comments == 3


def test_marks_of_comments_that_can_not_be(tmp_path):
    for marks in ("", "#%!", "1", "#-", ",", "\t", '"', "é"):
        with pytest.raises(UsageError) as error:
            InputOptions(comments=marks)
        assert str(error.value) == (
            f"--comments {marks}: unknown; it is one or two characters, no digit, blank, quote, sign or separator, as "
            "#%, or the word none."
        )
    with pytest.raises(UsageError, match=r"a\.mtx: --comments is for text, not for mtx\. Drop the option\."):
        read(tmp_path, "a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", comments="#")


def test_nothing_but_comments_for_long(tmp_path):
    path = write(tmp_path, "a.txt", ("# " + "c" * 997 + "\n") * 17_000 + "1 2\n")
    with pytest.raises(InputError, match=r"a\.txt: has no line of data within its first 16 MiB; an edge list holds a"):
        opened(path, tmp_path)


def test_long_comment_before_data(tmp_path):
    assert read(tmp_path, "a.txt", "# " + "c" * 80 + "\n" + "# x\n" * 60_000 + "1 2\n3 4\n") == PAIR
