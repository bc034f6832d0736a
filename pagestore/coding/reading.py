"""Coded pages as they come from a file, checked and decoded a page at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pagestore.crc import page_crc
from pagestore.errors import StoreError
from pagestore.layout import ROW, other_headers
from pagestore.pageset import PageSet

NOT_SOUND, UNKNOWN = -1, (1 << 64) - 1  # in place of a page's greatest neighbour


def begins_of(topology: PageSet, weights: bool) -> np.ndarray:
    """i8[pages + 1]: where each coded page, or its coded weights, begins in its dataset."""
    assert topology.places is not None, "pages are not coded"
    found = topology.places.weights if weights else topology.places.pages
    assert found is not None, "the store has no weights"
    return found


def pieces(topology: PageSet, first: int, coded: np.ndarray, weights: bool) -> Iterator[tuple[int, np.ndarray]]:
    """Page numbers from `first` on, and the part of uint8[n] that each has."""
    begins, at, number = begins_of(topology, weights), 0, first
    while at < len(coded):
        end = at + int(begins[number + 1] - begins[number])
        yield number, coded[at:end]
        at, number = end, number + 1


def aligned(piece: np.ndarray) -> np.ndarray:
    """uint8[n] at an address that suits words of 8 bytes: a copy where its own does not."""
    if piece.ctypes.data % 8 == 0:
        return piece
    room = np.empty(-(-len(piece) // 8), np.uint64).view(np.uint8)[: len(piece)]
    room[:] = piece
    return room


def check_crcs(topology: PageSet, first: int, coded: np.ndarray, weights: bool) -> None:
    """Raise StoreError for the first of the coded pages, or weights, whose checksum is wrong."""
    sums = topology.directory["weights_crc" if weights else "crc"]
    for number, piece in pieces(topology, first, coded, weights):
        if page_crc(number, piece) != sums[number]:
            fails = "has weights that fail their checksum" if weights else "fails its checksum"
            raise StoreError(f"{topology.name_page(number, search=True)} {fails}. {topology.remedy}")


def decode_all(topology: PageSet, first: int, coded: np.ndarray, weights: bool, out: np.ndarray) -> np.ndarray:
    """Decode uint8[n] into uint8[pages, width]; `coded` may lie at the end of `out`.

    A page is copied before it is decoded. What is written then lies before the pages to come: none is longer coded.
    Returns bool[pages]: of which pages the lists may lead out of the graph or of the page, for all that the decoder
    saw. Raises StoreError naming the first page that is not sound.
    """
    room = np.empty(-(-out.shape[1] // 8), np.uint64).view(np.uint8)
    unknown = np.zeros(len(out), bool)
    for number, piece in pieces(topology, first, coded, weights):
        held = room[: len(piece)]
        held[:] = piece
        greatest = decode_one(topology, number, held, weights, out[number - first])
        if greatest == NOT_SOUND:
            raise unsound_page(topology, number)
        unknown[number - first] = greatest > topology.last_id
    return unknown


def unsound_page(topology: PageSet, number: int) -> StoreError:
    """The error for a coded page, or coded weights, that no converter writes."""
    return StoreError(
        f"{topology.name_page(number, search=True)} breaks the format: its coded bytes lead out of the page. "
        f"No accident made it so if its checksum is right. {topology.remedy}"
    )


def check_sound(topology: PageSet, first: int, coded: np.ndarray, weights: bool) -> None:
    """Raise StoreError for the first coded page, or coded weights, that would lead a decoder out of the page.

    A page that is stored as it is has its lists checked, as kernels read them; a coded one may still name neighbours
    that are no vertices, which its decoder finds.
    """
    from pagestore.check import unsound
    from pagestore.coding.decode import sound, sound_weights

    layout = topology.layout
    for number, piece in pieces(topology, first, coded, weights):
        row = topology.directory[number : number + 1]
        whole = topology.weight_page_bytes if weights else layout.page_bytes
        counts = int(row["records"][0]), int(row["edges"][0])
        if weights:
            assert topology.weight_dtype is not None
            right = len(piece) == whole or sound_weights(aligned(piece), topology.weight_dtype, sum(counts))
        elif len(piece) == whole:
            right = unsound(layout, row, topology.last_id, piece.reshape(1, -1)) is None
        else:
            right = not other_headers(row, piece.reshape(1, -1))[0] and sound(aligned(piece), layout, *counts)
        if not right:
            raise unsound_page(topology, number)


def decode_one(topology: PageSet, number: int, held: np.ndarray, weights: bool, out: np.ndarray) -> int:
    """Decode one coded page, uint8[n] aligned to 8 bytes, into uint8[width]; the greatest neighbour of a page.

    UNKNOWN where it was not seen, 0 of weights, NOT_SOUND where the bytes lead out of the page.
    """
    from pagestore.coding.decode import decode_page, decode_weights, sound  # Numba: as in pagestore.reader

    if len(held) == len(out):  # it was no smaller coded
        out[:] = held
        return 0 if weights else UNKNOWN
    row, layout = topology.directory[number], topology.layout
    counts = int(row["records"]), int(row["edges"])
    if weights:
        assert topology.weight_dtype is not None
        end = layout.header_words + sum(counts)
        return 0 if decode_weights(held, topology.weight_dtype, layout.header_words, end, out) else NOT_SOUND
    if not sound(held, layout, *counts):
        return NOT_SOUND
    greatest = decode_page(held, layout, *counts, out, int(row["last_vertex"]))
    return greatest if row["layout"] == ROW else UNKNOWN
