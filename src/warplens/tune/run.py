"""`warplens.tune(...)`: facts of all configurations, predictions of those that are worth it, full
runs of the best."""

from __future__ import annotations

import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warplens.errors import InputError, WarplensError
from warplens.tune import evaluate, settings
from warplens.tune.evaluate import COUNTED, TIME, Answer, Task
from warplens.tune.paste import code
from warplens.tune.problem import Job, Problem, Shape
from warplens.tune.record import Record, key_of, purpose_of
from warplens.tune.result import Learned, Tuned
from warplens.tune.rows import Row, in_order
from warplens.tune.search import Bounds, check_strategy, strategy_of
from warplens.tune.space import Configuration, Restriction, Space, name_of
from warplens.tune.surrogate import Estimates, Floats, estimates, features_of, learned_from
from warplens.workers import Lost, Runner, Store, runner_of

_LAUNCHABLE = ("compiled", "predicted", "confirmed")
_LISTED = 16  # configurations that one call disassembles at most
_COUNTED = 1024  # configurations whose ways are followed, those with the least bound from code
_LEARNED = 5  # predictions without which nothing is estimated
_SPILLS = 64  # bytes of local memory a thread above the least of the space: not worth predicting
_BUDGET = re.compile(r"^(\d+(?:\.\d+)?)\s*(s|sec|min|h)$")
Progress = Callable[[str, int, int], None]
Place = tuple[str, int]  # GPU, number of the configuration


def tune(
    source: str | Path | Mapping[Any, str | Path],
    *,
    kernel: str,
    space: Mapping[str, Sequence[Any]],
    grid: Shape,
    block: Shape,
    args: Sequence[Any] | Callable[[Configuration], Sequence[Any]],
    shared: Shape = 0,
    cluster: Shape | None = None,
    options: Sequence[str] = (),
    restrictions: Sequence[Restriction] = (),
    constants: Mapping[str, Any] | None = None,
    reference: Mapping[int, Any] | Callable[..., Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    gpus: Sequence[str] = ("H200",),
    **search: Any,
) -> Tuned:
    """Finds the best configuration of a kernel by predicted time, for one GPU or several.

    Args:
        source: CUDA text or a file; a dictionary of variants by the parameter SOURCE.
        kernel: its name, with parameters as in `tiled<{TILE}>`; the others are definitions (-D).
        space: parameter -> values; restrictions: expressions or functions that must be true.
        grid, block, shared, cluster: sizes, expressions, or functions of the configuration.
        args: launch arguments, or a function that gives them; constants: further names for
            expressions, such as problem sizes.
        reference: argument index -> expected array, or a function of the arguments.
        rtol, atol: how far results may be from expected arrays.
        gpus: one or several; the first one is `best`'s.
        search: strategy ("exhaustive", "random", "tpe", "evolutionary", "surrogate"), budget
            ("10min"), evaluations (at most so many predictions), confirm (how many of the best are
            run in full), seed, objective (a metric that is minimised; default: the time), record
            (a file that is resumed), scheduler (a Dask address), processes, clock, progress,
            timeout (of one full run, such as "30s").

    Raises:
        InputError: the space, an expression or the search's settings make no sense. Problems of
            single configurations do not raise: their rows tell them.
    """
    problem = Problem(
        source=source, kernel=kernel, space=Space(dict(space), tuple(restrictions)), grid=grid,
        block=block, shared=shared, cluster=cluster, args=args, options=tuple(options),
        reference=reference, rtol=rtol, atol=atol, constants=dict(constants or {}),
    )  # fmt: skip
    chosen = {"gpus": tuple(gpus), **search, **settings.overrides}
    found = Search(problem, tuple(chosen.pop("gpus")), **chosen).run()
    settings.heard(found)
    return found


def seconds_of(budget: str | float | None) -> float | None:
    """Seconds of `90s`, `10min`, `1.5h` or a number; None for no limit."""
    if budget is None or isinstance(budget, int | float):
        return budget
    found = _BUDGET.match(budget.strip())
    if found is None:
        raise InputError(f"budget {budget!r} is not a time, such as 90s, 10min or 1h")
    return float(found[1]) * {"s": 1, "sec": 1, "min": 60, "h": 3600}[found[2]]


class Search:
    """One search; `run` does it."""

    def __init__(
        self, problem: Problem, gpus: tuple[str, ...], *, strategy: str = "exhaustive",
        budget: str | float | None = None, evaluations: int | None = None, confirm: int = 3,
        seed: int = 0, objective: str = TIME, record: str | Path | None = None,
        scheduler: str | None = None, processes: int | None = None,
        clock: str | float = "base", timeout: str | float | None = None,
        progress: Progress | None = None,
    ) -> None:  # fmt: skip
        if not gpus:
            raise InputError("no GPU to tune for")
        check_strategy(strategy)
        self.problem, self.gpus, self.clock = problem, gpus, clock
        self.timeout, self._store = seconds_of(timeout), Store()
        self.configurations = list(problem.space)
        if not self.configurations:
            raise InputError("the restrictions leave no configuration")
        self.jobs = [problem.job(one) for one in self.configurations]
        self.objective, self.confirm, self.evaluations = objective, confirm, evaluations
        self._strategy, self._seed = strategy, seed
        self._limit, self._begin = seconds_of(budget), time.monotonic()
        self._progress = progress or (lambda stage, done, total: None)
        self._scheduler, self._processes = scheduler, processes
        self._record = Record(None if record is None else Path(record), self._purpose())
        self.stopped, arity = "", len(problem.arguments(self.configurations[0]))
        self._counted: dict[int, float] = {}  # by configuration, on the first GPU
        self.rows = {
            (gpu, index): Row(configuration=one, gpu=gpu, launch=job.launch,
                              code=code(job, gpu, arity))
            for gpu in gpus
            for index, (one, job) in enumerate(zip(self.configurations, self.jobs, strict=True))
        }  # fmt: skip

    def _purpose(self) -> str:
        paths = dict.fromkeys(job.source for job in self.jobs)
        texts = [p.read_text() if isinstance(p, Path) and p.is_file() else str(p) for p in paths]
        arguments = self.problem.arguments(self.configurations[0])
        return purpose_of(texts, arguments, f"{self.objective} {self.clock}")

    def run(self) -> Tuned:
        """Facts, predictions, full runs; what an interrupt or the budget leaves is kept."""
        told: dict[str, Estimates] = {}
        workers = runner_of(self._scheduler, self._processes)
        try:
            self._facts(workers)
            self._counts(workers)
            self._predictions(workers)
            told = self._estimates()
            self._confirmations(workers)
        except KeyboardInterrupt:
            self.stopped = "interrupted"
        finally:
            workers.close()
            self._store.close()
        return Tuned(
            rows=tuple(self.rows.values()), gpus=self.gpus, objective=self.objective,
            stopped=self.stopped, surrogates={
                gpu: Learned(known=one.known, error_percent=one.error_percent)
                for gpu, one in told.items()
            },
        )  # fmt: skip

    def _is_spent(self) -> bool:
        if self._limit is not None and time.monotonic() - self._begin > self._limit:
            self.stopped = self.stopped or "the budget is spent"
            return True
        return False

    def _answers(
        self, workers: Runner, stage: str, wanted: Sequence[Place],
        more: Callable[[], Sequence[Place]] = tuple,
    ) -> Iterator[tuple[Place, Answer]]:  # fmt: skip
        """Answers for (GPU, configuration) as they come, from the record where it has them, until
        the budget is spent. After each one `more` is asked what is wanted besides."""
        tasks: list[Task] = []
        places: list[Place | None] = []  # of the tasks; None: it only lists
        known: deque[tuple[Place, Answer]] = deque()

        def add(wanted: Sequence[Place]) -> None:
            new = []
            for place in wanted:
                answer = self._record.find(stage, place[0], self.jobs[place[1]])
                if answer is None or stage == "confirm":
                    new.append(place)
                else:
                    known.append((place, answer))
            for one, task in self._tasks(workers, stage, new):
                places.append(one)
                tasks.append(task)

        add(wanted)
        results = workers.results(evaluate.answer, tasks, _group)
        while True:
            while known:
                yield known.popleft()
                add(more())
            following = next(results, None)
            if following is None:
                return
            number, found = following
            place = places[number]
            if place is not None:
                answer = Answer(problem=found.problem) if isinstance(found, Lost) else found
                self._record.keep(stage, place[0], self.jobs[place[1]], answer)
                yield place, answer
                add(more())
            if self._is_spent():
                return

    def _tasks(
        self, workers: Runner, stage: str, places: Sequence[Place]
    ) -> Iterator[tuple[Place | None, Task]]:
        """A task for each place. What is predicted is disassembled before, many configurations in
        one call, while others are predicted already."""
        size = max(2, min(_LISTED, -(-len(places) // workers.size)))
        ahead = size * workers.size  # all workers list once before the first ones predict
        for begin in range(0, len(places) + ahead, ahead):
            if stage in ("count", "predict") and workers.has_one_cache:
                for task in self._lists(places[begin : begin + ahead], size):
                    yield None, task
            for place in places[max(0, begin - ahead) : begin]:
                yield place, self._task(stage, *place)

    def _lists(self, places: Sequence[Place], size: int) -> list[Task]:
        """Tasks that disassemble the configurations of the places."""
        tasks = []
        for gpu in self.gpus:
            jobs = [self.jobs[index] for name, index in places if name == gpu]
            tasks += [
                Task(stage="list", job=jobs[i], others=tuple(jobs[i + 1 : i + size]), gpu=gpu,
                     clock=self.clock, metrics=(), arguments=())
                for i in range(0, len(jobs) - 1, size)
            ]  # fmt: skip
        return tasks

    def _task(self, stage: str, gpu: str, index: int) -> Task:
        needs = stage != "facts"
        arguments = self.problem.arguments(self.configurations[index]) if needs else []
        metrics = () if self.objective == TIME else (self.objective,)
        return Task(stage=stage, job=self.jobs[index], gpu=gpu, clock=self.clock, metrics=metrics,
                    arguments=self._store.stored(arguments), timeout=self.timeout)  # fmt: skip

    def _facts(self, workers: Runner) -> None:
        """Compiles everything; what cannot be launched, or spills beside others, is pruned."""
        places = [] if self._is_spent() else list(self.rows)
        for done, (place, answer) in enumerate(self._answers(workers, "facts", places), 1):
            row = self.rows[place]
            if answer.facts is None:
                row.status, row.problem = "failed", answer.problem
            else:
                row.facts, row.status = dict(answer.facts), "compiled"
            self._progress("compiled", done, len(places))
        for gpu in self.gpus:
            self._prune(gpu)

    def _prune(self, gpu: str) -> None:
        rows = [row for (name, _), row in self.rows.items() if name == gpu and row.facts]
        least = min((row.facts["local_bytes"] for row in rows), default=0.0)
        for row in rows:
            spilled = row.facts["local_bytes"] - least
            if spilled > _SPILLS:
                row.status = "pruned"
                row.problem = f"spills {spilled:.0f} bytes a thread more than others"

    def _counts(self, workers: Runner) -> None:
        """Before few predictions of many: what the ways of warps take at least."""
        gpu, open_ = self.gpus[0], self._open()
        is_few = self.evaluations is not None and self.evaluations < len(open_)
        if self._strategy != "surrogate" or not is_few or self._is_spent():
            return
        known = [index for index in open_ if self.rows[gpu, index].facts]
        known.sort(key=lambda index: (self.rows[gpu, index].facts["least"], index))
        places = [(gpu, index) for index in known[:_COUNTED]]
        for done, (place, answer) in enumerate(self._answers(workers, "count", places), 1):
            if answer.metrics is not None:
                self._counted[place[1]] = answer.metrics[COUNTED]
            self._progress("counted", done, len(places))

    def _predictions(self, workers: Runner) -> None:
        open_ = self._open()
        known = {name_of(self.configurations[index]): index for index in open_}
        strategy = strategy_of(
            self._strategy, [self.configurations[index] for index in open_],
            lambda: self._features(open_), self._seed, self.evaluations,
            lambda: self._bounds(open_),
        )  # fmt: skip
        left = self.evaluations or len(open_)
        gpus, total = len(self.gpus), min(left, len(open_))
        rounds: deque[tuple[list[Configuration], set[Place]]] = deque()  # with what is missing

        def more() -> list[Place]:
            """The next round, as soon as the strategy has learned enough of those before."""
            nonlocal left
            wanted: list[Place] = []
            while not wanted and left > 0:
                if len(rounds) > strategy.ahead:
                    if rounds[0][1]:
                        break
                    for one in rounds.popleft()[0]:  # and no later one, even if it is complete
                        strategy.learn(one, self._cost(known[name_of(one)]))
                proposed = strategy.propose(min(strategy.batch, left))
                left = left - len(proposed) if proposed else 0
                wanted = [(gpu, known[name_of(one)]) for one in proposed for gpu in self.gpus]
                wanted = [place for place in wanted if self.rows[place].status == "compiled"]
                rounds.append((proposed, set(wanted)))
            return wanted

        first = [] if self._is_spent() else more()
        answers = self._answers(workers, "predict", first, more)
        for done, (place, answer) in enumerate(answers, 1):
            self._predicted(self.rows[place], answer)
            for _, missing in rounds:
                missing.discard(place)
            self._progress("predicted", done // gpus, total)

    def _open(self) -> list[int]:
        """The configurations that can be launched on one of the GPUs."""
        return [
            index for index in range(len(self.configurations))
            if any(self.rows[gpu, index].status in _LAUNCHABLE for gpu in self.gpus)
        ]  # fmt: skip

    def _features(self, indices: Sequence[int]) -> Floats:
        """What a surrogate learns from: parameters, launch, and facts on every GPU that has all."""
        gpus = [g for g in self.gpus if all(self.rows[g, index].facts for index in indices)]
        told = [
            learned_from(self.jobs[index], [self.rows[gpu, index].facts for gpu in gpus])
            for index in indices
        ]
        if all(index in self._counted for index in indices):
            told = [[*told[n], {COUNTED: self._counted[i]}] for n, i in enumerate(indices)]
        return features_of([self.configurations[index] for index in indices], told)

    def _bounds(self, indices: Sequence[int]) -> Bounds:
        """What each one takes at least: as compiled for the first GPU that launches all, and by
        the ways of its warps if most could be followed."""
        told = [gpu for gpu in self.gpus if all(self.rows[gpu, i].facts for i in indices)]
        code = [self.rows[told[0], i].facts["least"] for i in indices] if told else None
        if len(self._counted) <= len(indices[:_COUNTED]) // 2:
            return code, None
        return code, [self._counted.get(index, math.inf) for index in indices]

    def _estimates(self) -> dict[str, Estimates]:
        """What a surrogate says of the rows that were not predicted, by GPU."""
        found: dict[str, Estimates] = {}
        indices = self._open() if self._strategy == "surrogate" else []
        features = self._features(indices) if indices else np.zeros((0, 1))
        for gpu in self.gpus if indices else ():
            rows = [self.rows[gpu, index] for index in indices]
            costs = {i: row.objective for i, row in enumerate(rows) if row.objective}
            wanted = [i for i, row in enumerate(rows) if row.status == "compiled"]
            if len(costs) < _LEARNED or not wanted:
                continue
            found[gpu] = estimates(features, costs, wanted, self._seed)
            for i, value in found[gpu].values.items():
                rows[i].status, rows[i].estimate = "estimated", value
        return found

    def _predicted(self, row: Row, answer: Answer) -> None:
        if answer.metrics is None:
            row.status, row.problem = "failed", answer.problem
            return
        row.metrics, row.limiter = dict(answer.metrics), answer.limiter
        row.time_ns, row.objective = answer.metrics[TIME], answer.metrics[self.objective]
        row.status = "predicted"

    def _cost(self, index: int) -> float | None:
        """The geometric mean of the objective over all GPUs."""
        values = [self.rows[gpu, index].objective for gpu in self.gpus]
        if any(value is None for value in values):
            return None
        return float(np.exp(np.mean(np.log([max(v or 0.0, 1e-12) for v in values]))))

    def _confirmations(self, workers: Runner) -> None:
        """Runs the best in full, with the reference; a wrong one makes place for the next."""
        for gpu in self.gpus:
            places = {id(row): place for place, row in self.rows.items() if place[0] == gpu}
            rows = [self.rows[p] for p in places.values() if self.rows[p].status == "predicted"]
            by_value = sorted(rows, key=lambda row: row.objective or 0.0)
            confirmed = 0
            for row in in_order(rows) if self.objective == TIME else by_value:
                place = places[id(row)]
                if confirmed >= self.confirm or self._is_spent():
                    break
                ((_, answer),) = self._answers(workers, "confirm", [place])
                confirmed += self._confirmed(place, answer)
                self._progress(f"run in full on {gpu}", confirmed, self.confirm)

    def _confirmed(self, place: tuple[str, int], answer: Answer) -> bool:
        row = self.rows[place]
        wrong = answer.problem or self._wrong(answer.arguments)
        if wrong or answer.metrics is None:
            row.status, row.problem, row.objective = "failed", wrong, None
            return False
        row.status, row.confirmed_ns = "confirmed", answer.metrics[TIME]
        row.metrics |= answer.metrics
        row.objective = answer.metrics[self.objective]
        return True

    def _wrong(self, arguments: Sequence[Any]) -> str:
        """Why the results are wrong, or nothing."""
        reference = self.problem.reference
        if reference is None:
            return ""
        if callable(reference):
            try:
                is_right = reference(*arguments)
            except (AssertionError, WarplensError) as error:
                return f"wrong result: {str(error).splitlines()[0] if str(error) else 'refused'}"
            return "wrong result" if is_right is False else ""
        for index, expected in reference.items():
            found, wanted = np.asarray(arguments[index]), np.asarray(expected)
            close = found.shape == wanted.shape and np.allclose(
                found, wanted, rtol=self.problem.rtol, atol=self.problem.atol, equal_nan=True
            )
            if not close:
                return f"wrong result in argument {index}"
        return ""


def _group(task: Task) -> str:
    """Tasks of one job need one cubin."""
    return key_of(task.job)


__all__ = ["Job", "Search", "seconds_of", "tune"]
