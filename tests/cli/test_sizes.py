"""Sizes and times as users write and read them."""

from __future__ import annotations

import pytest

from gstream.options.stopping import parse_every
from pagestore.convert.options import ConvertOptions
from pagestore.errors import UsageError
from pagestore.sizes import parse_size, show_bytes, show_count, show_seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2GiB", 2 << 30),
        ("512MiB", 512 << 20),
        ("512M", 512 << 20),
        ("64k", 64 << 10),
        ("2GB", 2 * 10**9),
        ("1.5 TiB", 3 << 39),
        (" 4096 ", 4096),
        ("100B", 100),
        (".5g", 1 << 29),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "much", "2 gigs", "-1GiB", "1e9", "GiB", "1 2", "0x10"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"^--memory .*: not a size\. Write a number with a unit, as 512MiB or 2GiB\.$"
    ):
        parse_size(text, "--memory")


@pytest.mark.parametrize("text", ["9" * 5000, "9" * 400 + ".5k", "9" * 400 + "t"])
def test_too_many_digits(text: str) -> None:
    with pytest.raises(UsageError, match=r"too much; the limit is 1024 TiB|too much; the limit is 1 PiB"):
        parse_size(text, "--memory")
    with pytest.raises(UsageError, match=r"^--checkpoint-every 9+.*: must be supersteps, as 10, or a time"):
        parse_every(text.replace("k", "s").replace("t", "h"))


def test_leading_zeros() -> None:
    assert parse_size("0" * 5000 + "5k") == 5 << 10


def test_no_size_given() -> None:
    assert parse_size(None) is None


def test_numbers_of_bytes_stay() -> None:
    assert [parse_size(size) for size in (0, 4096, -1)] == [0, 4096, -1]


def test_a_slip_of_the_keyboard() -> None:
    assert parse_size("1PiB") == 1 << 50
    for given in ("1.1PiB", "99999999TB", (1 << 50) + 1):
        with pytest.raises(UsageError, match=r"^--memory .*: too much; the limit is 1 PiB\. Pass less\.$"):
            parse_size(given, "--memory")


def test_conversions_take_text_too() -> None:
    options = ConvertOptions(memory_bytes="1GiB", page_bytes="64KiB")  # type: ignore[arg-type]
    assert options == ConvertOptions(memory_bytes=1 << 30, page_bytes=1 << 16)
    with pytest.raises(UsageError, match="--page-size big: not a size"):
        ConvertOptions(page_bytes="big")  # type: ignore[arg-type]


def test_shown() -> None:
    assert [show_bytes(n) for n in (0, 1023, 1024, 3 << 19, 1020 << 20, 5 << 40)] == [
        "0 B", "1023 B", "1 KiB", "1.5 MiB", "1020 MiB", "5 TiB",
    ]  # fmt: skip
    assert [show_count(n) for n in (0, 999, 1000, 282_402, 999_999, 1.47e9)] == [
        "0",
        "999",
        "1 k",
        "282 k",
        "1 M",
        "1.47 G",
    ]
    assert [show_seconds(s) for s in (0.01234, 99, 200, 7500)] == ["0.0123 s", "99 s", "3 min 20 s", "2 h 05 min"]
    assert [show_seconds(3600 * h) for h in (99, 120, 2412, 228670)] == [
        "99 h 00 min",
        "5 days",
        "100 days",
        "9,528 days",
    ]
