"""How long a sweep will take, as a range: from runs that ended and from those under way. No torch.

No time is shown before anything was measured, except for a rough guess in a dry run. The first
run's first seconds give the first estimate; each run that ends corrects it.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from untrue.lab.data import IMAGES, facts
from untrue.lab.design import Setup
from untrue.lab.records import RunConfig, RunResult
from untrue.networks import NETWORKS
from untrue.training.progress import duration

# A run that has trained for less shows little about its speed.
FIRST_SECONDS = 4.0
# How far the speed of a run under way may be off, as a factor: others start beside it, caches warm.
UNDER_WAY = 1.5
# How far that of runs that ended may be off beside their own differences: the machine's load.
DRIFT = 1.15
# How far a guess by the network's size may be off, down and up; a loaded machine took 8 times it.
GUESSED = (0.5, 8.0)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From `low` to `high` seconds.

    >>> str(TimeRange(700, 1240)), str(TimeRange(40, 170)), str(TimeRange(42, 42.4))
    ('12 to 21 min', '40 s to 3 min', 'about 42 s')
    """

    low: float
    high: float

    def __str__(self) -> str:
        low, high = duration(self.low), duration(self.high)
        if low == high:
            return f"about {low}"
        (number, *unit), (_, *other) = low.split(), high.split()
        if unit == other and len(unit) == 1:
            return f"{number} to {high}"
        return f"{low} to {high}"

    def times(self, factor: float) -> TimeRange:
        return TimeRange(self.low * factor, self.high * factor)


@dataclass(slots=True)
class _UnderWay:
    """A run in progress: when it started, at which share, and how far it has come."""

    since: float | None = None
    first: float = 0.0
    share: float = 0.0
    now: float = 0.0
    relative: float = 1.0

    def seconds(self) -> float | None:
        """What a usual run will take at its speed, once that is known."""
        if self.since is None or self.now - self.since < FIRST_SECONDS or self.share <= self.first:
            return None
        return (self.now - self.since) / (self.share - self.first) / self.relative


@dataclass(slots=True)
class SpeedEstimate:
    """How fast runs go, as seen.

    jobs          runs at a time
    ended         seconds of runs that ended before; forgotten when one of these ends
    least_share   of its epochs a run may end early by
    like          a usual run: the time of others counts by their epochs beside its; None: equally
    """

    jobs: int
    ended: Sequence[float] = ()
    least_share: float = 1.0
    like: RunConfig | None = None
    own: list[float] = field(default_factory=list)
    under_way: dict[str, _UnderWay] = field(default_factory=dict)

    def relative(self, config: RunConfig) -> float:
        """The work of a run, in usual runs."""
        return 1.0 if self.like is None else relative(config, self.like)

    def start(self, run: str, *, relative: float = 1.0) -> None:
        self.under_way[run] = _UnderWay(relative=relative)

    def advance(self, run: str, share: float, now: float) -> None:
        """A run has done a share of its steps."""
        at = self.under_way.setdefault(run, _UnderWay())
        if at.since is None:
            at.since, at.first = now, share
        at.share, at.now = share, now

    def end(self, run: str, seconds: float | None) -> None:
        """A run ended; None: it failed, which says nothing."""
        self.under_way.pop(run, None)
        if seconds is not None:
            self.own.append(seconds)

    def one_run(self) -> TimeRange | None:
        """The mean time of a run that is to come; None where nothing is known."""
        ended = self.own or list(self.ended)
        if ended:
            mean = statistics.fmean(ended)
            # Of a single run the spread is not known: as if others took a quarter more or less.
            spread = statistics.stdev(ended) if len(ended) > 1 else mean / 4
            off = 2 * spread / math.sqrt(len(ended)) / mean if mean else 0.0
            return TimeRange(mean / (DRIFT * (1 + off)), mean * DRIFT * (1 + off))
        seconds = [s for at in self.under_way.values() if (s := at.seconds()) is not None]
        if not seconds:
            return None
        low, high = min(seconds) / UNDER_WAY, max(seconds) * UNDER_WAY
        return TimeRange(low * self.least_share, high)

    def left(self, waiting: float) -> TimeRange | None:
        """The time until all runs have ended, with this many yet to start."""
        one = self.one_run()
        if one is None:
            return None
        open_shares = [(1.0 - at.share) * at.relative for at in self.under_way.values()]
        longest = 1.0 if waiting else max(open_shares, default=0.0)
        rounds = (waiting + sum(open_shares)) / self.jobs
        # At best all processes end together; at worst the longest run starts when the others end
        # (Graham's bound for lists of jobs).
        return TimeRange(
            one.low * max(rounds, longest), one.high * (rounds + (1 - 1 / self.jobs) * longest)
        )


def cost(config: RunConfig, train_images: int) -> int:
    """Images a run trains on, all epochs together (early stopping makes it fewer)."""
    setup = config.setup
    kept = min(setup.limit_train or train_images, train_images) - setup.validation
    return max(kept, 1) * setup.training.epochs


def relative(config: RunConfig, like: RunConfig) -> float:
    """The epochs of a run beside those of another."""
    return config.setup.training.epochs / like.setup.training.epochs


def stored(results: Iterable[RunResult], like: RunConfig, train_images: int) -> list[float]:
    """Seconds that finished runs of the same network would have taken with this run's images."""
    return [
        result.provenance.seconds
        / (result.train_images * max(result.config.setup.training.epochs, 1))
        * cost(like, train_images)
        for result in results
        if result.status == "ok"
        and result.train_images * result.epochs_run > 0
        and _kind(result.config) == _kind(like)
    ]


def guessed(config: RunConfig, train_images: int, *, threads: int) -> TimeRange | None:
    """A run's time on a CPU from the network's size and this machine's speed at the moment.

    Training takes three times the work of an answer, at about the speed of matrix products that
    are too small for more than one core, and a few milliseconds of overhead per step. A network
    that takes images of any size is guessed for those of the data set; None where neither is known.
    """
    setup = config.setup
    share = _share_of_usual(setup)
    if share is None:
        return None
    work = 3 * NETWORKS[setup.network].macs * setup.width**2 * share
    a = np.ones((48, 48), dtype=np.float32)
    # The median, not the least: others at work on this machine count.
    speed = 48**3 / statistics.median(_seconds_of(lambda: a @ a) for _ in range(500))
    each = work / (speed * threads) + 0.003 / setup.training.batch_size
    low, high = GUESSED
    whole = each * cost(config, train_images)
    return TimeRange(low * least_share(config) * whole, high * whole)


def _share_of_usual(setup: Setup) -> float | None:
    """The pixels of an image beside those that the network's work is stated for."""
    network = NETWORKS.get(setup.network)
    if network is None:
        return None
    if network.inputs is not None:
        return 1.0
    if network.usual is None or setup.data not in IMAGES:
        return None
    shape = facts(setup.data).image_shape
    return math.prod(shape[1:]) / math.prod(network.usual[1:]) if len(shape) == 3 else None


def least_share(config: RunConfig) -> float:
    """The share of its epochs after which early stopping may end a run."""
    training = config.setup.training
    if not training.patience:
        return 1.0
    return min((training.patience + 1) / max(training.epochs, 1), 1.0)


def _seconds_of(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _kind(config: RunConfig) -> tuple[str, float]:
    return config.setup.network, config.setup.width
