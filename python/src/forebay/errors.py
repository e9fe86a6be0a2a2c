"""What can go wrong, as exceptions. All of them are `ForebayError`s."""

from __future__ import annotations

from dataclasses import dataclass


class ForebayError(Exception):
    """Anything that Forebay refuses or that fails in a run."""


@dataclass(frozen=True)
class Mistake:
    """One mistake in a scenario."""

    message: str
    """The whole mistake as text: place, problem, line of text, hint."""
    problem: str
    """What is wrong, in one line."""
    file: str | None
    """The file as it was named, `<dict>` for a scenario given as a dict, `--set` for a change;
    None if the mistake is about no text."""
    line: int | None
    """Line, from 1; of a dict, that of its text in TOML."""
    column: int | None
    """Column in characters, from 1."""
    key: str | None
    """The key, from the top of the scenario: `links[0].rate`."""
    hint: str | None
    """A suggestion, or advice."""


class ScenarioError(ForebayError, ValueError):
    """A scenario that cannot be used: all that is wrong with it.

    The attributes `problem`, `file`, `line`, `column`, `key` and `hint` are those of the first
    mistake.
    """

    mistakes: tuple[Mistake, ...]
    """The mistakes, 1 to 20, in the order of the text."""
    more: int
    """Further mistakes that are not among them."""

    def __init__(self, message: str, mistakes: tuple[Mistake, ...] = (), more: int = 0) -> None:
        super().__init__(message, mistakes, more)
        self.mistakes = mistakes
        self.more = more

    def __str__(self) -> str:
        return str(self.args[0])

    def _first(self) -> Mistake:
        return self.mistakes[0]

    @property
    def problem(self) -> str:
        return self._first().problem

    @property
    def file(self) -> str | None:
        return self._first().file

    @property
    def line(self) -> int | None:
        return self._first().line

    @property
    def column(self) -> int | None:
        return self._first().column

    @property
    def key(self) -> str | None:
        return self._first().key

    @property
    def hint(self) -> str | None:
        return self._first().hint


class RunError(ForebayError, RuntimeError):
    """A run that failed."""

    protocol: str
    """The protocol of the run."""
    seed: int
    """Its seed."""

    def __init__(self, message: str, protocol: str, seed: int) -> None:
        super().__init__(message, protocol, seed)
        self.protocol = protocol
        self.seed = seed

    def __str__(self) -> str:
        return str(self.args[0])


class MemoryNeeded(ForebayError, MemoryError):
    """Runs that need more memory than is available."""


class ResultsError(ForebayError, OSError):
    """Results that cannot be written or read."""


class ActionError(ForebayError, ValueError):
    """An action that is none: not a number, infinite, or out of its range."""


class EpisodeOver(ForebayError, RuntimeError):
    """A step without an episode: it is over, or has not begun."""
