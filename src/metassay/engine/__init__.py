"""Running metrics over batches: on this machine, or by parts on a Ray cluster.

A task is the name of a function, what it must know as plain values, and the number of a part with its rows.
Whoever does it writes the part into a folder that all machines see and answers with the number. The store is
the truth: whoever asked finds the parts there, in whatever order they came, and makes those that are missing.
"""

from __future__ import annotations

import functools
import importlib
import io
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metassay.errors import InputError, MetricFailure, MissingBackend
from metassay.recorded_warnings import WarningRecorder

if TYPE_CHECKING:
    import polars as pl

    from metassay.engine.batches import Parts, Rows
    from metassay.engine.local import Progress
    from metassay.metrics.base import Metric

LOCAL, RAY = "local", "ray"
_RETRIES = 3
"""So often a part is tried again whose worker or machine went away."""
_WAITING = 2
"""Parts that wait for each core, so that memory holds no more of them."""


def engine_named(text: str) -> RayCluster | None:
    """The cluster that `ray` or `ray,ADDRESS` names; None for `local`."""
    kind, _, address = text.partition(",")
    if kind not in {LOCAL, RAY} or (kind == LOCAL and address):
        raise InputError(f"{text!r} is no engine.", remedy="Use local, ray, or ray,ADDRESS.")
    return None if kind == LOCAL else RayCluster(address.strip() or None)


@dataclass(frozen=True)
class RayCluster:
    """Ray Core: a task per part. Without an address, that in RAY_ADDRESS, else a cluster on this machine."""

    address: str | None = None

    def map(
        self,
        function: str,
        manifest: Mapping[str, Any],
        parts: Iterable[tuple[int, bytes]],
        *,
        workers: int = 1,
        gpu: bool = False,
    ) -> Iterator[int]:
        """The numbers of parts as they are done; one that fails is named, and left to whoever asked."""
        ray = self._ray(workers)
        cores = ray.cluster_resources()
        gpus = 1 if gpu and cores.get("GPU", 0) >= 1 else 0
        task = ray.remote(_carry_out).options(num_cpus=1, num_gpus=gpus, max_retries=_RETRIES)
        told = ray.put(dict(manifest))
        queue, more = iter(parts), True
        under_way: dict[Any, int] = {}
        while more or under_way:
            while more and len(under_way) < _WAITING * max(1, int(cores.get("CPU", 1))):
                found = next(queue, None)
                more = found is not None
                if found is not None:
                    under_way[task.remote(function, told, *found)] = found[0]
            for done in ray.wait(list(under_way), timeout=0.2)[0] if under_way else ():
                number = under_way.pop(done)
                try:
                    yield ray.get(done)
                except ray.exceptions.RayError as error:
                    _failed(number, error)

    def _ray(self, workers: int) -> Any:
        """Ray, connected."""
        try:
            import ray
        except ImportError:
            raise MissingBackend("Ray", extra=RAY) from None
        if not ray.is_initialized():
            quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
            try:
                ray.init(self.address or "auto", **quiet)
            except (ConnectionError, ValueError) as error:
                if self.address is not None:
                    reason = " ".join(str(error).split())
                    raise InputError(f"there is no Ray cluster at {self.address} ({reason}).") from None
                ray.init("local", num_cpus=workers, include_dashboard=False, **quiet)
        return ray


def _failed(number: int, error: Exception) -> None:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    logging.getLogger("metassay").warning(
        "Note: Ray did not do part %s (%s); it is done here.", number, reason
    )


def _carry_out(function: str, manifest: Mapping[str, Any], number: int, rows: bytes) -> int:
    """What a worker does: the function `package.module:name` of ours writes the part."""
    module, _, name = function.partition(":")
    getattr(importlib.import_module(module), name)(manifest, number, rows)
    return number


def make_parts(
    cluster: RayCluster,
    metrics: Sequence[Metric],
    pieces: Mapping[int, Rows],
    parts: Parts,
    workers: int | None,
    progress: Progress | None,
) -> None:
    """Let a cluster make the parts that are not there, of metrics that are known by their spec."""
    from metassay.engine.local import default_workers
    from metassay.metrics.base import NEURAL
    from metassay.store.cache import parts_at

    known = [m for m in metrics if _as_described(_described(m)) is not None]
    run, cache = parts.places()
    there = parts_at(run, cache)
    for gpu in (False, True):
        own = [metric for metric in known if metric.cost_class.startswith(NEURAL) is gpu]
        wanted = [n for n in pieces if not all(there.has(m.spec, m.signature, n) for m in own)]
        manifest = {"metrics": [_described(metric) for metric in own], "run": run, "cache": cache}
        done = cluster.map(
            "metassay.engine:score_part",
            manifest | {"homes": _homes_of(pieces) if gpu and wanted else None},
            ((number, _as_bytes(pieces[number].frame)) for number in wanted),
            workers=default_workers(workers),
            gpu=gpu,
        )
        for count, _ in enumerate(done, start=1):
            if progress is not None:
                progress("by Ray, neural metrics" if gpu else "by Ray", count, len(wanted))
    parts.look_again()


def score_part(manifest: Mapping[str, Any], number: int, rows: bytes) -> None:
    """Score one piece and keep it, where and as a manifest says: what a worker of a cluster does."""
    import polars as pl

    from metassay.engine.batches import Rows
    from metassay.engine.local import Kept, score_piece
    from metassay.metrics.base import SharedWork
    from metassay.store.cache import parts_at

    metrics = [metric for known in manifest["metrics"] if (metric := _as_described(known)) is not None]
    if len(metrics) < len(manifest["metrics"]):
        raise MetricFailure(
            "This machine has other metrics, or other versions of them, than the one that asked."
        )
    parts = parts_at(manifest["run"], manifest["cache"], metrics)
    kept = {m.spec: Kept(parts, m.spec, m.signature) for m in metrics}
    shared = None if manifest["homes"] is None else SharedWork(*_shared(manifest["homes"]))
    with WarningRecorder() as heard:
        score_piece(metrics, number, Rows(pl.read_ipc(rows), shared=shared), kept, heard)


def _homes_of(pieces: Mapping[int, Rows]) -> bytes:
    """The homes of texts that several pieces hold: those of one home are encoded together, by whomever."""
    import polars as pl

    shared = next(iter(pieces.values())).shared
    homes = {} if shared is None else shared.find_text_groups()
    kinds = {"text": pl.String, "piece": pl.Int64, "field": pl.Int64}
    return _as_bytes(pl.DataFrame([(text, *home) for text, home in homes.items()], kinds, orient="row"))


@functools.lru_cache(maxsize=1)
def _shared(homes: bytes) -> tuple[Callable[[], Mapping[str, tuple[int, int]]], dict[Hashable, Any]]:
    """The homes, and what this process makes of texts for all parts of a run that it is given."""
    import polars as pl

    found = {text: (piece, field) for text, piece, field in pl.read_ipc(homes).iter_rows()}
    return (lambda: found), {}


def _described(metric: Metric) -> dict[str, Any]:
    return {
        "spec": metric.spec,
        "languages": list(metric.languages),
        "text": metric.text_changes,
        "signature": metric.signature,
    }


def _as_described(known: Mapping[str, Any]) -> Metric | None:
    """The metric of that spec, if its signature is the one that is meant."""
    from metassay.metrics.registry import parse_metric

    try:
        metric = parse_metric(known["spec"])
    except InputError:
        return None
    metric = metric.bind_to_data(known["languages"], known["text"]) if known["languages"] else metric
    return metric if metric.signature == known["signature"] else None


def _as_bytes(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compression="lz4")
    return buffer.getvalue()
