"""The pictures of README and docs: each function draws one. `python docs/pictures.py` writes pages/pictures/*.svg."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "pages" / "pictures"
INK, PAPER = "#1f2933", "#ffffff"
PAGE, VERTEX, DEVICE, DISK, CACHE = "#f7c873", "#9ad0b5", "#dbe7f5", "#e6e6e6", "#c9b6e4"


class Drawing:
    """Shapes with text, in pixels from the upper left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.shapes: list[str] = []

    def box(
        self, x: float, y: float, w: float, h: float, text: str = "", fill: str = DEVICE, top: bool = False
    ) -> None:
        """A rectangle; its text stands in the middle, or at the top."""
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="4" fill="{fill}" stroke="{INK}"/>'
        )
        lines = text.split("\n") if text else []
        first = y + 17 if top else y + h / 2 + 4.5 - 8 * (len(lines) - 1)
        for number, line in enumerate(lines):
            self.text(x + w / 2, first + 16 * number, line, "middle")

    def text(self, x: float, y: float, text: str, anchor: str = "start", size: int = 13) -> None:
        """A line of text; y is its base line."""
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{INK}">{escape(text)}</text>'
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float, text: str = "") -> None:
        """An arrow from (x1, y1) to (x2, y2), with text above its middle."""
        self.shapes.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{INK}" stroke-width="1.6" '
            'marker-end="url(#head)"/>'
        )
        if text:
            self.text((x1 + x2) / 2, (y1 + y2) / 2 - 6, text, "middle", 12)

    def pages(self, x: float, y: float, count: int, first: int = 0, fill: str = PAGE) -> None:
        """A row of numbered pages."""
        for number in range(count):
            self.box(x + 34 * number, y, 30, 24, str(first + number), fill)

    def svg(self) -> str:
        """The file's text."""
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" font-family="Helvetica, Arial, sans-serif" role="img">',
                f"<title>{escape(self.title)}</title>",
                '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
                f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{INK}"/></marker></defs>',
                f'<rect width="{self.width}" height="{self.height}" fill="{PAPER}"/>',
                *self.shapes,
                "</svg>\n",
            )
        )


def streaming() -> Drawing:
    """The front page's: pages pass by the vertex values."""
    d = Drawing(760, 210, "Pages of edges are streamed from disk past the vertex values, which stay in memory")
    d.box(10, 30, 190, 150, "store on disk", DISK, top=True)
    d.pages(22, 62, 5)
    d.pages(22, 92, 5, 5)
    d.pages(22, 122, 5, 10)
    d.text(105, 168, "edges, in pages of 1 MiB", "middle", 12)
    d.arrow(200, 105, 300, 105, "stream")
    d.box(305, 30, 165, 150, "host memory", DEVICE, top=True)
    d.pages(318, 62, 4, 4)
    d.box(318, 96, 132, 24, "page cache", CACHE)
    d.text(387, 168, "read ahead, checked", "middle", 12)
    d.arrow(470, 105, 560, 105, "link")
    d.box(565, 30, 185, 150, "GPU, or host cores", DEVICE, top=True)
    d.box(578, 58, 158, 26, "page at work", PAGE)
    d.box(578, 92, 158, 26, "page cache", CACHE)
    d.box(578, 126, 158, 26, "vertex values", VERTEX)
    d.text(657, 171, "values stay, pages pass", "middle", 12)
    return d


def pages() -> Drawing:
    """A small page with its slots, and a hub's large pages."""
    d = Drawing(
        760, 250, "A small page holds whole lists of several vertices, a large page one stretch of a hub's list"
    )
    d.text(20, 24, "small page: whole lists of vertices 7, 8 and 9")
    x = 20
    for width, text, fill in (
        (70, "header", DISK), (135, "list of 7", PAGE), (60, "list of 8", PAGE), (180, "list of 9", PAGE),
        (120, "free", PAPER), (50, "slot 9", VERTEX), (50, "slot 8", VERTEX), (50, "slot 7", VERTEX),
    ):  # fmt: skip
        d.box(x, 38, width, 40, text, fill)
        x += width
    d.text(
        20,
        102,
        "Lists grow from the front, slots from the end. A slot has a vertex and where its list begins.",
        size=12,
    )
    d.text(20, 142, "large pages: one hub's list, cut into stretches")
    for number in range(3):
        d.box(20 + 245 * number, 156, 70, 40, "header", DISK)
        d.box(90 + 245 * number, 156, 160, 40, f"hub 3, part {number}", PAGE)
    d.text(
        20, 222, "The page directory has one row a page: kind, first vertex, edges, checksum, lanes a list.", size=12
    )
    return d


def join() -> Drawing:
    """One superstep as a nested-loop join."""
    d = Drawing(760, 260, "A superstep joins chunks of vertex values with all wanted pages")
    d.text(20, 26, "outer loop: chunks of vertex values (WA)")
    for number in range(3):
        d.box(20 + 120 * number, 40, 105, 36, f"WA chunk {number}", VERTEX)
    d.text(20, 116, "inner loop: wanted pages, in batches")
    for number in range(3):
        d.box(20 + 185 * number, 130, 170, 50, f"batch {number}", DEVICE, top=True)
        d.pages(36 + 185 * number, 152, 4, 4 * number)
    d.arrow(300, 78, 300, 126)
    d.text(312, 104, "for each chunk", size=12)
    d.box(600, 80, 140, 60, "kernel:\nsend, combine", CACHE)
    d.arrow(362, 58, 598, 95)
    d.arrow(562, 155, 598, 130)
    d.text(20, 212, "After the last page: apply, totals, and the pages that the next superstep wants.", size=12)
    d.text(20, 236, "If all vertex values fit, there is one chunk and each page comes once a superstep.", size=12)
    return d


def streams() -> Drawing:
    """Copies and kernels of several streams overlap."""
    d = Drawing(760, 220, "Streams overlap the copy of one batch with the kernel of another")
    for stream in range(3):
        y = 40 + 46 * stream
        d.text(15, y + 22, f"stream {stream}")
        for turn in range(2):
            start = 90 + 96 * (3 * turn + stream)
            if start + 96 <= 700:
                d.box(start, y, 92, 32, f"copy {3 * turn + stream}", PAGE)
                d.box(start + 96, y, 60, 32, "kernel", CACHE)
    d.arrow(90, 184, 740, 184)
    d.text(735, 204, "time", "end", 12)
    d.text(90, 204, "The link copies without a pause; each kernel runs beside the next copies.", size=12)
    return d


def cache() -> Drawing:
    """LRU and pinned pages in a cyclic sweep."""
    d = Drawing(760, 220, "In a cyclic sweep over more pages than slots LRU never hits, pinned slots do")
    d.text(20, 26, "6 pages, 4 slots, the second sweep asks for 0, 1, 2, 3, 4, 5 again")
    d.text(20, 66, "lru")
    d.pages(90, 48, 4, 2, CACHE)
    d.text(250, 66, "left after the first sweep: 2 to 5. Page 0 replaces 2, page 1 replaces 3, ...")
    d.text(250, 86, "hits: 0 of 6", size=12)
    d.text(20, 136, "pinned")
    d.pages(90, 118, 4, 0, CACHE)
    d.text(250, 136, "the first pages keep their slots: 0 to 3. Pages 4 and 5 pass through.")
    d.text(250, 156, "hits: 4 of 6", size=12)
    d.text(20, 198, "One implementation serves host memory (over disk) and device memory (over the link).", size=12)
    return d


def exchange() -> Drawing:
    """Two GPUs, each with a share of the pages, merge slices of the values."""
    d = Drawing(760, 270, "Two GPUs sweep their own pages, then each merges one slice of the vertex values")
    for gpu in range(2):
        x = 20 + 390 * gpu
        d.box(x, 30, 330, 170, f"GPU {gpu}", DEVICE, top=True)
        for number in range(4):
            d.box(x + 20 + 72 * number, 58, 62, 24, f"page {2 * number + gpu}", PAGE)
        d.box(x + 20, 105, 140, 40, "slice 0", VERTEX)
        d.box(x + 165, 105, 140, 40, "slice 1", VERTEX)
        d.text(x + 165, 180, f"reduces slice {gpu}, then takes the other", "middle", 12)
    d.arrow(410, 118, 352, 118)
    d.arrow(352, 136, 408, 136)
    d.text(380, 158, "NVLink", "middle", 11)
    d.text(380, 172, "or PCIe", "middle", 11)
    d.text(20, 232, "A page belongs to the device that a hash of its stretch names, in every superstep.", size=12)
    d.text(
        20,
        252,
        "After a push every device has sums for all vertices; after a pull only for those of its own pages.",
        size=12,
    )
    return d


def costs() -> Drawing:
    """The terms of equation (1) as bars."""
    d = Drawing(760, 230, "The cost model: the larger of streaming and computing, beside loads, calls and merges")
    d.text(20, 26, "seconds of a superstep that sweeps all pages")
    d.box(20, 44, 90, 40, "load WA", VERTEX)
    d.box(114, 44, 380, 40, "stream pages: bytes / (rate of the link x devices)", PAGE)
    d.box(498, 44, 80, 40, "calls", DISK)
    d.box(582, 44, 110, 40, "merge WA", VERTEX)
    d.box(114, 96, 250, 40, "kernels: edges / rate", CACHE)
    d.text(374, 121, "hidden behind the stream while shorter", size=12)
    d.text(
        20, 172, "Where kernels take longer than the stream (host cores), the kernels hide the stream instead.", size=12
    )
    d.text(20, 194, "Rates are measured at the first run on a machine and kept in the cache folder.", size=12)
    d.text(
        20,
        216,
        "gstream plan prints the result before a run; every summary prints it beside what the run took.",
        size=12,
    )
    return d


def bits() -> Drawing:
    """Bits an edge of coded pages by graph and order, as bench/bits.py measured them."""
    rows = json.loads((FOLDER.parents[2] / "bench" / "results" / "bits.json").read_text())
    colours = {"natural": DEVICE, "degree": PAGE, "llp": VERTEX}
    d = Drawing(760, 70 + 62 * len(rows), "Bits an edge in coded pages, by graph and order of its vertices")
    for number, (order, colour) in enumerate(colours.items()):
        d.box(170 + 110 * number, 12, 18, 14, "", colour)
        d.text(194 + 110 * number, 24, order)
    d.text(520, 24, "~: vertices numbered at random", size=12)
    for number, (name, row) in enumerate(rows.items()):
        y = 44 + 62 * number
        d.text(160, y + 24, name, "end")
        d.text(160, y + 40, f"pages as they are: {row['raw_bits']:.1f}", "end", 11)
        for place, (order, colour) in enumerate(colours.items()):
            width = 34 * row[order]["bits"]
            d.box(170, y + 17 * place, width, 15, "", colour)
            d.text(176 + width, y + 12 + 17 * place, f"{row[order]['bits']:.1f}", size=12)
    return d


PICTURES: tuple[Callable[[], Drawing], ...] = (streaming, pages, join, streams, cache, exchange, costs, bits)


def main() -> None:
    """Write all pictures, or those in the folder that the command line names."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        (folder / f"{picture.__name__}.svg").write_text(picture().svg())


if __name__ == "__main__":
    main()
