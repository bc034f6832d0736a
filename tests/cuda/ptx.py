"""Registers of PTX that are read before anything can have been written to them, which no compiler should leave.

nvcc 13.0 does: where the next turn of a loop began was read before it was computed, in a kernel that g++ got right.
"""

from __future__ import annotations

import re

KERNEL = re.compile(r"\.entry (\w+)\(.*?\n\{\n(.*?)\n\}\n", re.DOTALL)
REGISTER = re.compile(r"%(?:r|rd|f|fd|p|rs|rc|b)\d+\b")
LABEL = re.compile(r"(\$\w+):")
GUARD = re.compile(r"@!?(%p\d+)\s+")
JUMP = re.compile(r"\bbra(?:\.uni)?\s+(\$\w+)")
FIRST = re.compile(r"\s*(\{[^}]*\}|[^,;]+)")  # an instruction's result
NO_RESULT = ("st", "bra", "bar", "ret", "red", "membar", "cp", "call", "prefetch")
DIRECTIVES = (".reg", ".shared", ".local", ".align", ".loc", ".pragma")


def read_too_early(ptx: str) -> dict[str, list[str]]:
    """Every kernel's name -> instructions that read a register which no path of a first pass through its loops has
    written."""
    return {name: _first_pass(body) for name, body in KERNEL.findall(ptx)}


def _first_pass(body: str) -> list[str]:
    blocks, labels = _blocks(body)
    reached, written, found = {0: set()}, set(), []
    for number, block in enumerate(blocks):
        if number not in reached:
            continue
        written = reached[number]
        for line in block:
            results, operands = _registers(line)
            if operands - written:
                found.append(line)
            written = written | results | operands  # each is named once
        last = block[-1] if block else ""
        jump = JUMP.search(last)
        targets = [labels[jump[1]]] if jump else []
        if not (jump and not last.startswith("@")) and not last.startswith("ret"):
            targets.append(number + 1)
        for target in targets:
            if target > number:
                reached[target] = reached.get(target, set()) | written
    return found


def _blocks(body: str) -> tuple[list[list[str]], dict[str, int]]:
    """Instructions between labels and jumps; which block each label begins."""
    blocks: list[list[str]] = [[]]
    labels = {}
    for raw in body.splitlines():
        line = raw.split("//")[0].strip()
        label = LABEL.match(line)
        if label:
            blocks.append([])
            labels[label[1]] = len(blocks) - 1
        elif line and not line.startswith(DIRECTIVES):
            blocks[-1].append(line)
            if JUMP.search(line):
                blocks.append([])
    return blocks, labels


def _registers(line: str) -> tuple[set[str], set[str]]:
    """(written, read) by an instruction, or by several that stand in braces: cuda/summing.cuh's gather."""
    if line.startswith("{"):
        results = set(re.findall(r"mov\.\w+ (%\w+), 0", line))
        return results, set(REGISTER.findall(line)) - results
    guard = GUARD.match(line)
    operands = {guard[1]} if guard else set()
    name, _, rest = line[guard.end() if guard else 0 :].partition(" ")
    name, rest = (name.split("\t")[0], name.partition("\t")[2] + " " + rest) if "\t" in name else (name, rest)
    first = FIRST.match(rest)
    if name.startswith(NO_RESULT) or first is None or "[" in first[1]:
        return set(), operands | set(REGISTER.findall(rest))
    return set(REGISTER.findall(first[1])), operands | set(REGISTER.findall(rest[first.end() :]))
