"""Score batches on a Ray cluster.

Each task gets one batch, stores its scores in a folder that all machines can reach, and returns the number
of the batch. The caller then reads the scores from the folder and computes those that are missing, so that a
failed task never changes a result.
"""

from __future__ import annotations

import functools
import io
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metassay.engine.workers import choose_worker_count
from metassay.errors import InputError, MetricFailure, MissingBackend
from metassay.options import Progress
from metassay.recorded_warnings import WarningRecorder

if TYPE_CHECKING:
    import polars as pl

    from metassay.engine.batches import OutputRows
    from metassay.engine.score_store import ScoreStore
    from metassay.metrics.base import Metric

LOCAL_ENGINE = "local"
RAY_ENGINE = "ray"
# How often a task is repeated whose worker or machine disappeared.
_MAX_RETRIES = 3
# Tasks that are submitted at a time for each core: bounds the batches in memory.
_TASKS_PER_CORE = 2


def parse_engine_option(option_value: str) -> RayCluster | None:
    """Parse the value of the option `--engine`: a Ray cluster for `ray` or `ray,ADDRESS`, None for
    `local`.
    """
    kind, _, address = option_value.partition(",")
    if kind not in {LOCAL_ENGINE, RAY_ENGINE} or (kind == LOCAL_ENGINE and address):
        raise InputError(f"{option_value!r} is not an engine.", remedy="Use local, ray, or ray,ADDRESS.")
    return None if kind == LOCAL_ENGINE else RayCluster(address.strip() or None)


@dataclass(frozen=True)
class RayCluster:
    """The address of a Ray cluster.

    Without an address, the cluster named by RAY_ADDRESS is used, or else one is started on this machine.
    """

    address: str | None = None

    def run_task_for_each_batch(
        self,
        function: Callable[[Any, int, bytes], int],
        shared_argument: Any,
        batches: Iterable[tuple[int, bytes]],
        *,
        workers: int = 1,
        needs_gpu: bool = False,
    ) -> Iterator[int]:
        """Call `function(shared_argument, number, batch)` on the cluster for every batch. Yields each result
        as soon as it is ready.

        A batch whose task fails is reported and left to the caller.
        """
        ray = self._connect_to_ray(workers)
        resources = ray.cluster_resources()
        # Ray waits forever for a resource that the cluster does not have.
        gpus = 1 if needs_gpu and resources.get("GPU", 0) >= 1 else 0
        task = ray.remote(function).options(num_cpus=1, num_gpus=gpus, max_retries=_MAX_RETRIES)
        max_running = _TASKS_PER_CORE * max(1, int(resources.get("CPU", 1)))
        # Sent to each machine once, not with every task.
        argument_reference = ray.put(shared_argument)
        running: dict[Any, int] = {}
        waiting = iter(batches)
        next_batch = next(waiting, None)
        while next_batch is not None or running:
            while next_batch is not None and len(running) < max_running:
                running[task.remote(argument_reference, *next_batch)] = next_batch[0]
                next_batch = next(waiting, None)
            # In short steps, so that an interrupt is noticed.
            finished, _ = ray.wait(list(running), timeout=0.2)
            for future in finished:
                number = running.pop(future)
                try:
                    yield ray.get(future)
                except ray.exceptions.RayError as error:
                    _log_failed_batch(number, error)

    def _connect_to_ray(self, workers: int) -> Any:
        """Connect to the cluster, or start one on this machine, and return the module `ray`."""
        try:
            import ray
        except ImportError:
            raise MissingBackend("Ray", extra=RAY_ENGINE) from None
        if ray.is_initialized():
            return ray
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            # "auto" reads RAY_ADDRESS, or finds a cluster that runs on this machine.
            ray.init(self.address or "auto", **quiet)
        except (ConnectionError, ValueError) as error:
            if self.address is not None:
                reason = " ".join(str(error).split())
                raise InputError(f"there is no Ray cluster at {self.address} ({reason}).") from None
            ray.init("local", num_cpus=workers, include_dashboard=False, **quiet)
        return ray


def _log_failed_batch(batch_number: int, error: Exception) -> None:
    """Tell the user that the cluster failed to score a batch and that this machine scores it instead."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    logging.getLogger("metassay").warning(
        "Note: Ray did not compute part %s (%s), so it is computed on this machine.", batch_number, lines[-1]
    )


@dataclass(frozen=True)
class MetricDescription:
    """What another machine needs to create a metric, and to check that its own version of the metric is the
    same.
    """

    spec: str
    languages: tuple[str | None, ...]
    preprocessing: str
    signature: str


@dataclass(frozen=True)
class ClusterJob:
    """What all tasks on a Ray cluster share: the metrics, and a function that opens the store of scores."""

    metrics: tuple[MetricDescription, ...]
    open_store: Callable[[Sequence[Metric]], ScoreStore]
    repeated_texts: bytes | None
    """For neural metrics: the texts that several batches contain, so that all machines group them alike."""


def score_batches_on_cluster(
    cluster: RayCluster,
    metrics: Sequence[Metric],
    batches: Mapping[int, OutputRows],
    store: ScoreStore,
    workers: int | None,
    progress: Progress | None,
) -> None:
    """Score batches of outputs on a Ray cluster and store the scores.

    Batches whose scores are stored already are left out, and so are metrics that exist only in this process.
    """
    from metassay.metrics.base import NEURAL_PREFIX

    # A worker builds metrics from their specs. Metrics that cannot be built this way, such as objects of the
    # user, are scored here.
    rebuildable = [
        metric
        for metric in metrics
        if _build_metric_from_description(_describe_metric_for_worker(metric)) is not None
    ]
    store.reload_scores()
    # Two rounds, so that metrics without a GPU do not occupy one.
    for needs_gpu in (False, True):
        stage = "by Ray, neural metrics" if needs_gpu else "by Ray"
        chosen = [m for m in rebuildable if m.cost_class.startswith(NEURAL_PREFIX) is needs_gpu]
        unfinished = []
        for number in batches:
            if not all(store.has_batch_scores(metric, number) for metric in chosen):
                unfinished.append(number)
        if not unfinished:
            continue
        job = ClusterJob(
            tuple(_describe_metric_for_worker(metric) for metric in chosen),
            store.make_store_opener(),
            _encode_repeated_texts(batches) if needs_gpu else None,
        )
        finished = cluster.run_task_for_each_batch(
            score_batch_on_worker,
            job,
            ((number, _encode_frame_as_arrow(batches[number].frame)) for number in unfinished),
            workers=choose_worker_count(workers),
            needs_gpu=needs_gpu,
        )
        for count, _ in enumerate(finished, start=1):
            if progress is not None:
                progress(stage, count, len(unfinished))
    store.reload_scores()


def score_batch_on_worker(job: ClusterJob, batch_number: int, encoded_rows: bytes) -> int:
    """Score one batch of outputs on a machine of the cluster and store the scores. Returns the batch
    number.
    """
    import polars as pl

    from metassay.engine.batches import OutputRows
    from metassay.engine.scoring import score_batch
    from metassay.metrics.shared_cache import SharedCache

    metrics = []
    for description in job.metrics:
        metric = _build_metric_from_description(description)
        if metric is None:
            raise MetricFailure(
                "This machine has other metrics, or other versions of them, than the machine that started "
                "the run."
            )
        metrics.append(metric)
    shared = None if job.repeated_texts is None else SharedCache(*_decode_repeated_texts(job.repeated_texts))
    rows = OutputRows(pl.read_ipc(encoded_rows), shared=shared)
    with WarningRecorder() as recorder:
        score_batch(metrics, batch_number, rows, job.open_store(metrics), recorder)
    return batch_number


def _describe_metric_for_worker(metric: Metric) -> MetricDescription:
    """Describe a metric by its specification and signature, so that another machine can create it."""
    return MetricDescription(metric.spec, tuple(metric.languages), metric.preprocessing, metric.signature)


def _build_metric_from_description(description: MetricDescription) -> Metric | None:
    """Create a metric from its description. None if this machine has no such metric, or another version of
    it.
    """
    from metassay.metrics.registry import parse_metric

    try:
        metric = parse_metric(description.spec)
    except InputError:
        return None
    if description.languages:
        metric = metric.copy_metric_for_languages(description.languages, description.preprocessing)
    return metric if metric.signature == description.signature else None


def _encode_repeated_texts(batches: Mapping[int, OutputRows]) -> bytes:
    """Encode the texts that occur in more than one batch as bytes, each with the first batch and field that
    contain it.
    """
    import polars as pl

    shared = next(iter(batches.values())).shared
    text_groups = {} if shared is None else shared.find_text_groups()
    rows = [(text, batch_number, field_number) for text, (batch_number, field_number) in text_groups.items()]
    schema = {"text": pl.String, "batch": pl.Int64, "field": pl.Int64}
    return _encode_frame_as_arrow(pl.DataFrame(rows, schema, orient="row"))


# A worker process scores many batches of one job, and reads their repeated texts once.
@functools.lru_cache(maxsize=1)
def _decode_repeated_texts(
    repeated_texts: bytes,
) -> tuple[Callable[[], Mapping[str, tuple[int, int]]], dict[Hashable, Any]]:
    """Decode the texts that occur in more than one batch. Returns a function that returns them, and an empty
    cache that all tasks in this process share.
    """
    import polars as pl

    text_groups = {text: (batch, field) for text, batch, field in pl.read_ipc(repeated_texts).iter_rows()}
    return (lambda: text_groups), {}


def _encode_frame_as_arrow(frame: pl.DataFrame) -> bytes:
    """Encode a data frame as Arrow IPC bytes."""
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compression="lz4")
    return buffer.getvalue()
