"""The class that controllers may derive from. One with `on_ack`, `on_loss` and `cwnd` need not."""

from __future__ import annotations

from typing import Any, ClassVar

from ._native import Ack, Init, Loss


class Controller:
    """The sender half of a congestion control, for one path of one flow.

    `forebay.run(..., controllers={"mine": Mine})` gives a class its name in scenarios. An object is
    made for each end of each path; that of the receiver gets no ACKs of data. After each call
    Forebay reads `cwnd`, `pacing_rate` and `owns_recovery`.

    What a method raises ends the runs, and reaches the caller of `forebay.run`.
    """

    params: ClassVar[dict[str, Any]] = {}
    """Parameters that scenarios may give, with their defaults. They are keywords of `__init__`."""

    cwnd: float
    """Congestion window in bytes: at most this much is in flight. At least one segment is meant."""
    pacing_rate: float | None = None
    """Rate at which packets may leave, in bit/s; None: as fast as the window allows."""
    owns_recovery: bool = False
    """True: `cwnd` and `pacing_rate` hold in loss recovery, too. False: the transport sends towards
    `cwnd` then, with proportional rate reduction (RFC 6937)."""

    def __init__(self, init: Init, **params: Any) -> None:
        self.cwnd = init.initial_window_bytes
        self.mss_bytes = init.mss_bytes

    def on_ack(self, now_s: float, ack: Ack) -> None:
        """An ACK came: each one, duplicates too. `now_s` is the simulated time in seconds."""
        raise NotImplementedError

    def on_loss(self, now_s: float, loss: Loss) -> None:
        """Congestion, at most once per window of data: a loss or a mark."""
        raise NotImplementedError

    def on_timeout(self, now_s: float, loss: Loss) -> None:
        """The retransmission timer expired. `cwnd` must not grow."""
        self.on_loss(now_s, loss)
