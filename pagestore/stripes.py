"""The other files of a striped store: how they are named, found, and told from those of other stores.

    web.gs                        all but pages and weights; names the stripes
    A/web.gs.1f0c6a2e.0.stripe    pages and weights of some stretches (pagestore/spread.py)
    B/web.gs.1f0c6a2e.1.stripe    those of the others

A name is relative to the folder of the main file. A stripe outside of it is named without a folder, and found in the
folders that the caller gives. No name leads out of these: ".." and absolute names are refused, as a store may come from
a stranger. Each stripe says in its dataset /stripe which one of which store it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pagestore import hdf5
from pagestore.errors import GstreamError, StoreError, UsageError, plain
from pagestore.hdf5 import Extent, StoreFile
from pagestore.io import read_into
from pagestore.layout import PageLayout
from pagestore.meta import META_BYTES, REBUILD, SEAL_BYTES, STRIPE_SUFFIX, Meta, decode_meta, opened_seal, sealed
from pagestore.spread import Spread

FORMAT = "gstream stripe"
HEADER = "stripe"  # the dataset
HEADER_BYTES = 4096
TOKEN_DIGITS = 8  # of the store's UUID, in names of stripes: conversions to one name don't meet in a folder
SELF_MADE = "Name the folders of its stripes: --stripe FOLDER."

Datasets = dict[str, tuple[np.dtype, tuple[int, ...]]]


@dataclass(frozen=True)
class Stripe:
    """An open stripe: its file, where its datasets lie, and its bytes in all."""

    file: StoreFile
    extents: dict[str, Extent]
    nbytes: int


def spread_of(meta: Meta) -> Spread:
    """Which file of a store holds which pages."""
    if meta.parts:
        return Spread(meta.parts, meta.part_stretch, mixed=False, only=meta.part)
    return Spread(len(meta.stripes), meta.stripe_pages) if meta.stripes else Spread()


def stripe_names(path: str | os.PathLike, folders: Sequence[str | os.PathLike], uuid: str) -> tuple[str, ...]:
    """Names of a store's stripes, one in each of the folders, as its description has them."""
    main = Path(os.path.abspath(path))
    names = []
    for number, folder in enumerate(folders):
        name = f"{main.name}.{uuid.replace('-', '')[:TOKEN_DIGITS]}.{number}{STRIPE_SUFFIX}"
        place = Path(os.path.abspath(folder))
        names.append(str(place.relative_to(main.parent) / name) if place.is_relative_to(main.parent) else name)
    return tuple(names)


def stripe_paths(meta: Meta, folders: Sequence[str | os.PathLike]) -> list[str]:
    """Where the stripes of a new store go: one into each folder."""
    return [os.path.join(folder, os.path.basename(name)) for name, folder in zip(meta.stripes, folders, strict=True)]


def page_datasets(meta: Meta, rows: dict[str, int]) -> Datasets:
    """Datasets of pages and weights. rows: pages of each topology in the file."""
    layout = PageLayout(meta.page_bytes, meta.id_bytes)
    found: Datasets = {}
    if meta.compressed:
        for name in meta.topologies:
            found[f"topology/{name}/pages"] = (np.dtype("u1"), (meta.stored_bytes[name],))
            if meta.weighted:
                found[f"topology/{name}/weights"] = (np.dtype("u1"), (meta.stored_weights[name],))
        return found
    for name in meta.topologies:
        found[f"topology/{name}/pages"] = (np.dtype("u1"), (rows[name], layout.page_bytes))
        if meta.weight_dtype is not None:
            width = layout.weight_page_bytes(np.dtype(meta.weight_dtype).itemsize)
            found[f"topology/{name}/weights"] = (np.dtype("u1"), (rows[name], width))
    return found


def stripe_datasets(meta: Meta, pages: dict[str, int], number: int) -> Datasets:
    """All datasets of a stripe. pages: how many each topology has."""
    rows = {name: spread_of(meta).rows(count)[number] for name, count in pages.items()}
    return {HEADER: (np.dtype("u1"), (HEADER_BYTES,))} | page_datasets(meta, rows)


def header_of(meta: Meta, number: int) -> bytes:
    """The 4,096 bytes of a stripe's dataset /stripe: its JSON, with a CRC as in /meta."""
    said = {"format": FORMAT, "version": 1, "store": meta.uuid, "stripe": number, "stripes": len(meta.stripes),
            "pages": meta.stripe_pages}  # fmt: skip
    return sealed(said, HEADER_BYTES)


def find_stripe(path: str, name: str, folders: Iterable[str | os.PathLike]) -> str | None:
    """Where the stripe of that name is: in one of the folders, or where its name says, beside the main file."""
    places = [os.path.join(folder, os.path.basename(name)) for folder in folders]
    return next(filter(os.path.exists, [*places, os.path.join(os.path.dirname(path), name)]), None)


def open_stripes(path: str, meta: Meta, pages: dict[str, int], folders: Sequence[str | os.PathLike]) -> list[Stripe]:
    """The stripes of the store whose main file is at `path`. pages: how many each topology has.

    Raises StoreError naming the stripe that is missing, cut, another one or of another store, UsageError for folders of
    stripes where the store has none.
    """
    if folders and not meta.stripes:
        raise UsageError(f"--stripe: {path} lies in one file, without stripes. Leave the option out.")
    found: list[Stripe] = []
    try:
        for number in range(len(meta.stripes)):
            found.append(_open_stripe(path, meta, pages, folders, number))
    except BaseException:
        for stripe in found:
            stripe.file.close()
        raise
    return found


def _open_stripe(
    path: str, meta: Meta, pages: dict[str, int], folders: Sequence[str | os.PathLike], number: int
) -> Stripe:
    where = find_stripe(path, meta.stripes[number], folders)
    if where is None:
        raise _missing(path, meta, folders, number)
    file, extents = hdf5.open_located(where)
    stripe = Stripe(StoreFile(where, file), extents, os.fstat(file.fileno()).st_size)
    try:
        _check_header(path, meta, number, stripe)
        for name, expected in stripe_datasets(meta, pages, number).items():
            if name not in extents or (extents[name].dtype, extents[name].shape) != expected:
                raise StoreError(f"{where}: dataset {name} is missing or has another type or size. {REBUILD}")
    except BaseException:
        stripe.file.close()
        raise
    return stripe


def _missing(path: str, meta: Meta, folders: Sequence[str | os.PathLike], number: int) -> StoreError:
    """The error for a stripe that is nowhere; it was written to a folder that the store's provenance tells."""
    looked = [os.fspath(folder) for folder in folders]
    looked.append(os.path.dirname(os.path.join(os.path.dirname(path), meta.stripes[number])) or ".")
    options = meta.provenance.get("options")
    written = options.get("stripe") if isinstance(options, dict) else None
    told = ""
    if isinstance(written, list) and len(written) == len(meta.stripes):
        told = f" It was written to {plain(written[number])}."
    return StoreError(
        f"{path}: its stripe {number} of {len(meta.stripes)}, {plain(os.path.basename(meta.stripes[number]))}, is not "
        f"in {', '.join(plain(folder) for folder in looked)}.{told} {SELF_MADE}"
    )


def _check_header(path: str, meta: Meta, number: int, stripe: Stripe) -> None:
    """Refuse a file that is not stripe `number` of the store, and say what it is."""
    where, extent = stripe.file.path, stripe.extents.get(HEADER)
    if extent is None or extent.nbytes != HEADER_BYTES:
        raise StoreError(f"{where}: is no stripe of a store; stripe {number} of {path} was looked for. {SELF_MADE}")
    data = np.empty(HEADER_BYTES, np.uint8)
    read_into(stripe.file.opened().fileno(), extent.offset, data, where)
    stripe.file.seal_at(extent.offset, data[:SEAL_BYTES].tobytes())
    if data.tobytes() == header_of(meta, number):
        return
    said = opened_seal(data.tobytes())
    if said is None or said.get("format") != FORMAT:
        raise StoreError(f"{where}: its dataset /stripe fails its checksum. {REBUILD}")
    if said.get("store") != meta.uuid:
        raise StoreError(
            f"{where}: is a stripe of another store (UUID {plain(said.get('store'))}, not {meta.uuid}) than {path}. "
            f"{SELF_MADE}"
        )
    if said.get("stripe") != number:
        raise StoreError(
            f"{where}: is stripe {plain(said.get('stripe'))} of {path}, not {number}: files were swapped. Give them "
            "their names back."
        )
    raise StoreError(f"{where}: contradicts {path}, whose stripe it says it is. {REBUILD}")


def described(path: str | os.PathLike) -> Meta | None:
    """The description of the store at `path`; None where there is none that can be read."""
    with suppress(GstreamError, OSError):
        file, extents = hdf5.open_located(os.fspath(path))
        with file:
            data = np.empty(META_BYTES, np.uint8)
            read_into(file.fileno(), extents["meta"].offset if "meta" in extents else 0, data, os.fspath(path))
            return decode_meta(data.tobytes(), os.fspath(path))[0]
    return None


def stripes_of(path: str | os.PathLike, folders: Sequence[str | os.PathLike] = ()) -> tuple[list[str], list[str]]:
    """Files of the store at `path` beside its main file: paths of those that are found, and names of the others.

    Both are empty for a store in one file, and where there is no store. A file counts if it says that it is that stripe
    of that store.
    """
    meta = described(path)
    found, missing = [], []
    for number, name in enumerate(() if meta is None else meta.stripes):
        assert meta is not None
        where = find_stripe(os.fspath(path), name, folders)
        if where is not None and _is_stripe(where, meta, number):
            found.append(os.path.abspath(where))
        else:
            missing.append(name)
    return found, missing


def own_stripes(path: str | os.PathLike, paths: Sequence[str]) -> list[str]:
    """Those of the files `paths`, a new store's stripes, that are there as equal stripes of the store at `path`.

    Equal stores have stripes of equal names. Raises UsageError for one of a store that stands elsewhere.
    """
    there = [name for name in paths if os.path.lexists(name)]
    if not there:
        return []
    own = {os.path.realpath(name) for name in stripes_of(path, sorted({os.path.dirname(name) for name in paths}))[0]}
    for name in there:
        if os.path.realpath(name) not in own:
            raise UsageError(
                f"{name}: is there already, and no stripe of {os.fspath(path)}. Remove it, or name another folder."
            )
    return there


def _is_stripe(where: str, meta: Meta, number: int) -> bool:
    with suppress(GstreamError, OSError):
        file, extents = hdf5.open_located(where)
        with file:
            extent, data = extents.get(HEADER), np.empty(HEADER_BYTES, np.uint8)
            if extent is not None and extent.nbytes == HEADER_BYTES:
                read_into(file.fileno(), extent.offset, data, where)
                return data.tobytes() == header_of(meta, number)
    return False
