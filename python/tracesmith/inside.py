# SPDX-License-Identifier: Apache-2.0
"""What a Python program tells the tsdb that records it. Without one nothing happens, and a call costs some hundred nanoseconds."""
from . import _core

_MARK, _PUSH, _POP, _TRIGGER, _WINDOW, _HERE = range(6)


def mark(name):
    """A mark in the trace: `break mark NAME` stops there. Whether a tsdb has taken it."""
    return _core.say(_MARK, name)


def trigger(why):
    """Something has happened that somebody should look at: a live session stops here and says why, `tsdb record --until-trigger` ends
    its trace here; a mark in the trace. Whether a tsdb has taken it."""
    return _core.say(_TRIGGER, why)


def active():
    """Whether a tsdb is there that records this process."""
    return _core.say(_HERE, None)


class Range:
    """What range() and window() give: open until close(), or the end of `with`; by the thread that opened it, the innermost first.
    taken: whether a tsdb has taken it."""

    def __init__(self, ask, name):
        self.name, self.taken, self._open = name, _core.say(ask, name), True

    def close(self):
        """Ends it; again is fine."""
        if self._open:
            self._open = False
            if self.taken:
                _core.say(_POP, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __repr__(self):
        return f'<range {self.name!r}, {"open" if self._open else "closed"}>'


def span(name):
    """A range of this thread, as NVTX has them, from now on: `view --nvtx NAME`, `diff --step`. A Range."""
    return Range(_PUSH, name)


def window(name):
    """The same, recorded as a window with memory where one is wanted: `tsdb record --windows`, `capture window program`. A Range:

        with tracesmith.window("step 12"):
            step()
    """
    return Range(_WINDOW, name)
