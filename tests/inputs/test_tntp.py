"""TNTP road networks: the header's promises, the weight's column, what is wrong and where."""

from __future__ import annotations

import pytest
from input_files import edges_of, opened, read, write

from pagestore.errors import InputError, UsageError

HEADER = """<NUMBER OF ZONES> 3
<NUMBER OF NODES> 4
<FIRST THRU NODE> 1
<NUMBER OF LINKS> 3
<ORIGINAL HEADER>~ \tInit node \tTerm node \t;
<END OF METADATA>


~ \tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\tspeed\ttoll\tlink_type\t;
"""
LINKS = """\t1\t2\t25900.5\t6\t6.5\t0.15\t4\t0\t0\t1\t;
\t1\t3\t23403.25\t4\t4\t0.15\t4\t0\t0\t1\t;
\t2\t1\t25900.5\t7\t6\t0.15\t4\t0\t0\t1\t;
"""
NETWORK = HEADER + LINKS
NO_NETWORK = "Is this a TNTP network (NAME_net.tntp)? Other edge lists are read with --format text."


@pytest.mark.parametrize("name", ["net.tntp", "net.TNTP.gz", "anything.txt"])
def test_links(tmp_path, name):
    import gzip

    data = NETWORK.encode()
    path = write(tmp_path, name, gzip.compress(data) if name.endswith(".gz") else data)
    source = opened(path, tmp_path)
    assert (source.vertices, source.id_base, source.weighted, source.directed) == (4, 1, True, None)
    assert edges_of(source) == [(1, 2, 6.0), (1, 3, 4.0), (2, 1, 7.0)]


@pytest.mark.parametrize(
    ("column", "weights"),
    [(3, [25900.5, 23403.25, 25900.5]), ("free_flow_time", [6.5, 4.0, 6.0]), ("length", [6.0, 4.0, 7.0])],
)
def test_another_weight(tmp_path, column, weights):
    assert [edge[2] for edge in read(tmp_path, "net.tntp", NETWORK, weight_column=column)] == weights


def test_no_weights(tmp_path):
    assert read(tmp_path, "net.tntp", NETWORK, weights=False) == [(1, 2), (1, 3), (2, 1)]


def test_comments_and_blank_lines_between_tags(tmp_path):
    text = NETWORK.replace("<FIRST THRU NODE> 1\n", "\n~ a comment <NUMBER OF NODES> 9\n<FIRST THRU NODE> 1\n \t\n")
    assert read(tmp_path, "net.tntp", text) == [(1, 2, 6.0), (1, 3, 4.0), (2, 1, 7.0)]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 2\n", {}, f"a.tntp:1:1: '1 2' is no line of the header, as <NUMBER OF NODES> 24. {NO_NETWORK}"),
        ("<NUMBER OF NODES> 4\n", {}, f"a.tntp:2:1: the file ends before <END OF METADATA>. {NO_NETWORK}"),
        (
            NETWORK.replace("<NUMBER OF NODES> 4\n", ""),
            {},
            f"a.tntp:5:1: the header lacks <NUMBER OF NODES>. {NO_NETWORK}",
        ),
        (
            NETWORK.replace("LINKS> 3", "LINKS> 4"),
            {},
            "a.tntp:4:1: the header promises 4 links; the file holds 3. The file was cut or damaged: get it again.",
        ),
        (
            NETWORK.replace("\t1\t3\t", "\t1\t5\t"),
            {},
            "a.tntp:11:4: vertex ID 5 is past the limit; the header lets IDs run from 1 to 4. Fix the line, or pass "
            "--bad-lines skip.",
        ),
        (
            NETWORK.replace("\t0.15\t4\t0\t0\t1\t;\n", "\n", 1),
            {},
            r"a.tntp:10:19: 5 fields in '\t1\t2\t25900.5\t6\t6.5'; "
            "11 are due: init_node, term_node, capacity, "
            "length, free_flow_time, b, power, speed, toll, link_type and ;. Fix the line, or pass --bad-lines skip.",
        ),
        (
            NETWORK,
            {"weight_column": "km"},
            "a.tntp: --weight-column km: no such column of weights; there are capacity, length, free_flow_time, b, "
            "power, speed, toll, link_type, 3 to 10. Name one of them.",
        ),
        (
            NETWORK,
            {"weight_column": 2},
            "a.tntp: --weight-column 2: no such column of weights; there are capacity, length, free_flow_time, b, "
            "power, speed, toll, link_type, 3 to 10. Name one of them.",
        ),
    ],
)
def test_messages(tmp_path, monkeypatch, text, options, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a.tntp", text)
    with pytest.raises(UsageError if options else InputError) as error:
        edges_of(opened("a.tntp", tmp_path, **options))
    assert str(error.value) == message
