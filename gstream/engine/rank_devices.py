"""The devices of one rank among those of its machine, and how the devices of all ranks agree.

Ranks on one machine share its GPUs: each takes as many, one after the other by their local numbers. Where there are
fewer GPUs than ranks, all ranks take cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gstream.devices.base import Device, Exchange
from gstream.devices.host.device import HostDevice
from gstream.devices.ranks import Ranks
from gstream.options.auto_devices import cuda_has_started, gpus_there, is_auto, is_worth_a_gpu
from gstream.options.run_options import DeviceSpec, RunOptions, parse_devices
from pagestore.errors import GstreamError, UsageError

HOST = DeviceSpec("host")


def specs_of_rank(options: RunOptions, edges: int) -> tuple[list[DeviceSpec], str]:
    """This rank's devices for a store of so many edges, and what is to be noted. All ranks make this call.

    Raises UsageError, on all ranks, for devices that ranks can't have, and for too few GPUs.
    """
    ranks: Ranks = options.ranks
    if is_auto(options.devices):
        worth = is_worth_a_gpu(edges // ranks.size, options.host_threads, cuda_has_started())
        if ranks.any(not (gpus_there() and worth)):
            return [HOST], ""
        own, why = _own_gpus(ranks, None)
        return ([DeviceSpec("cuda", number) for number in own], "") if own else ([HOST], why)
    wanted = parse_devices(options.devices)
    if wanted == [HOST]:
        return wanted, ""
    if any(spec.kind != "cuda" for spec in wanted):
        raise UsageError(
            f"--devices {','.join(options.devices)}: a rank has the cores of its machine, as one device, or GPUs. Pass "
            "--devices host or --devices cuda:0,1, and start more ranks."
        )
    named = [spec.seed for spec in wanted]
    if len(set(named)) < len(named):
        raise UsageError(f"--devices {','.join(options.devices)}: ranks don't share a GPU. Name each one once.")
    own, why = _own_gpus(ranks, named)
    if not own:
        raise UsageError(f"--devices {','.join(options.devices)}: {why}. Name more, or start fewer ranks.")
    return [DeviceSpec("cuda", number) for number in own], ""


def _own_gpus(ranks: Ranks, named: list[int] | None) -> tuple[list[int], str]:
    """Numbers of this rank's GPUs, of those that are `named`, or of all; none, and why, where ranks are too many."""
    seen = seen_gpus(ranks, named)
    share = ranks.least(len(seen.numbers) // len(seen.sharing))
    if share == 0:
        return [], seen.failure or "a machine has fewer GPUs than ranks"
    at = seen.sharing.index(ranks.rank) * share
    return seen.numbers[at : at + share], ""


class SeenGpus(NamedTuple):
    """GPUs that this rank sees, by their numbers; the ranks that see the same ones; why the first rank that sees none
    does not."""

    numbers: list[int]
    sharing: list[int]
    failure: str


def seen_gpus(ranks: Ranks, named: list[int] | None) -> SeenGpus:
    """Of the GPUs that are `named`, or of all. All ranks make this call.

    A GPU's own name (UUID) says whether two ranks see the same one; without it, the machine that MPI says, and the bus.
    """
    numbers, places, failed = list[int](), list[str](), ""
    try:
        from gstream.devices.gpu.driver import driver
        from gstream.devices.gpu.prestart import uuid_of

        cuda = driver()
        count = cuda.Device.count()
        numbers = list(range(count)) if named is None else [number for number in named if number < count]
        for number in numbers:
            bus = cuda.Device(number).pci_bus_id()
            places.append(uuid_of(number) or f"machine of rank {ranks.machine}, {bus}")
    except GstreamError as error:
        failed = getattr(error, "what", str(error)).removeprefix("--devices cuda: ").partition(". ")[0]
    everybody = ranks.everybody((places or [f"machine of rank {ranks.machine}"], failed))
    mine = everybody[ranks.rank][0]
    sharing = [rank for rank, (theirs, _) in enumerate(everybody) if theirs == mine]
    return SeenGpus(numbers, sharing, next((why for _, why in everybody if why), ""))


def exchange_of_ranks(devices: Sequence[Device], ranks: Ranks, part: Any) -> Exchange:
    """How the devices of all ranks agree. part: as of make_exchange; cores get it elsewhere."""
    hosts = [device for device in devices if isinstance(device, HostDevice)]
    if hosts:
        from gstream.devices.host.rank_exchange import RankExchange

        return RankExchange(hosts, ranks)
    from gstream.devices.gpu.rank_exchange import GpuRankExchange
    from gstream.devices.gpu.rank_links import make_link

    gpus: list[Any] = [device for device in devices if device not in hosts]
    return GpuRankExchange(gpus, ranks, make_link(ranks, [device.gpu for device in gpus]), part)
