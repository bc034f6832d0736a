"""Which column is the weight by its name: the same for text, tables and arrays, and what is refused as a guess."""

from __future__ import annotations

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from input_files import edges_of, opened, write

from pagestore.errors import InputError

HEADERS = {  # header: the place of the weight, None for none, "several" for more than one
    "source,total_amount,target": 1,
    "source,target,when_at,transfer_value": 3,
    "source,target,kind_id,edge_weight": 3,
    "source,target,EdgeWeight": 2,
    "amount,source,target,total_amount": 0,
    "amount,source,target,edge_weight": 3,
    "total_amount,source,target,fee_amount": "several",
    "source,target,value_date": None,
    "source,target,count_id": None,
    "source,target,x_id,target_count": None,
}
ROW = (5, 6, 7, 8)


@pytest.mark.parametrize("kind", ["text", "parquet", "npy"])
@pytest.mark.parametrize("header", HEADERS)
def test_a_name_that_ends_with_a_weight_s(tmp_path, header, kind):
    words, place = header.split(","), HEADERS[header]
    path = tmp_path / {"text": "a.csv", "parquet": "a.parquet", "npy": "a.npy"}[kind]
    row = ROW[: len(words)]
    if kind == "text":
        write(tmp_path, path.name, f"{header}\n{','.join(map(str, row))}\n")
    elif kind == "parquet":
        pyarrow.parquet.write_table(
            pyarrow.table({word: [value] for word, value in zip(words, row, strict=True)}), path
        )
    else:
        np.save(path, np.array([row], [(word, "i8") for word in words]))
    ends = row[words.index("source")], row[words.index("target")]
    if place == "several":
        with pytest.raises(InputError, match=r"total_amount.*fee_amount.* called as weights are; one weighs the edges"):
            opened(path, tmp_path)
        assert edges_of(opened(path, tmp_path, weights=False)) == [ends]
    else:
        assert edges_of(opened(path, tmp_path)) == [ends if place is None else (*ends, float(row[place]))]


def test_a_field_that_holds_no_numbers_is_no_weight(tmp_path):
    np.save(tmp_path / "a.npy", np.array([(1, 2, "x", 3)], [("u", "i8"), ("v", "i8"), ("fee", "U1"), ("cost", "i8")]))
    assert edges_of(opened(tmp_path / "a.npy", tmp_path)) == [(1, 2, 3.0)]


@pytest.mark.parametrize("count", [np.array(3), np.array([[1, 2]]), np.array(["a", "b"])])
def test_a_member_of_another_shape_is_no_weight(tmp_path, count):
    """Of an archive, as it may hold how many edges there are."""
    np.savez(tmp_path / "a.npz", source=[1, 2], target=[2, 3], count=count, fee=[4, 5])
    assert edges_of(opened(tmp_path / "a.npz", tmp_path)) == [(1, 2, 4.0), (2, 3, 5.0)]
    np.savez(tmp_path / "a.npz", source=[1, 2], target=[2, 3], count=count)
    assert edges_of(opened(tmp_path / "a.npz", tmp_path)) == [(1, 2), (2, 3)]


@pytest.mark.parametrize(("text", "held"), [
    ("5,1,2,7\n6,2,1,8\n", r"1 \(5\), 4 \(7\) hold numbers"),
    ("x,1,2,7\ny,2,1,8\n", r"4 \(7\) holds numbers"),
])  # fmt: skip
def test_numbers_beside_ends_that_options_name(tmp_path, text, held):
    """Without names the third column would be the weight by its place alone, or the fourth be lost."""
    path, ends = write(tmp_path, "a.csv", text), {"source_column": 2, "target_column": 3}
    with pytest.raises(
        InputError, match=rf"a\.csv: has 4 columns without names; .*, {held}, and may weigh .* Pass --w"
    ):
        opened(path, tmp_path, **ends)
    assert edges_of(opened(path, tmp_path, **ends, weights=False)) == [(1, 2), (2, 1)]
    assert edges_of(opened(path, tmp_path, **ends, weight_column=4)) == [(1, 2, 7.0), (2, 1, 8.0)]
    write(tmp_path, "a.csv", "a,1,2,x\nb,2,1,y\n")
    assert edges_of(opened(path, tmp_path, **ends)) == [(1, 2), (2, 1)]
