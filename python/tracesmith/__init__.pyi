# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, overload

MISSING: int
MISSING_SIGNED: int
NO_ID: int

class Error(Exception):
    cure: str
    code: str

def open(path: str | bytes | PathLike[str]) -> Trace: ...
def version() -> str: ...
def kinds() -> list[str]: ...
def fields(kind: str = ...) -> dict[str, str]: ...

class Frame:
    function: str | None
    file: str | None
    module: str | None
    offset: int
    line: int
    inlined: bool
    python: bool

class Args(dict[str, int | float | bytes | None]):
    types: dict[str, str | None]
    @overload
    def __getitem__(self, key: str) -> int | float | bytes | None: ...
    @overload
    def __getitem__(self, key: int) -> int | float | bytes | None: ...

class Command:
    seq: int
    kind: str
    def __getattr__(self, name: str) -> Any: ...
    @property
    def fields(self) -> dict[str, Any]: ...
    @property
    def gpu_ns(self) -> int | None: ...
    @property
    def mangled(self) -> str | None: ...
    @property
    def args(self) -> Args: ...
    @property
    def stack(self) -> list[Frame]: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    def _repr_html_(self) -> str: ...

class TextColumn(Sequence[str | None]):
    codes: Any
    texts: list[str]
    def __init__(self, codes: Any, texts: list[str]) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: Any) -> Any: ...
    def __array__(self, dtype: Any = ..., copy: Any = ...) -> Any: ...

class Columns(dict[str, Any]):
    rows: int
    def _repr_html_(self) -> str: ...

class Row:
    def __getattr__(self, name: str) -> Any: ...
    def _repr_html_(self) -> str: ...

class Table(Mapping[int, Row]):
    def __getitem__(self, number: int) -> Row: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

class State:
    seq: int
    streams: Table
    events: Table
    contexts: Table
    modules: Table
    kernels: Table
    allocations: Table
    graphs: Table
    devices: Table
    threads: Table
    def allocation_at(self, address: int) -> Row | None: ...
    def _repr_html_(self) -> str: ...

class Trace:
    path: Any
    program: str | None
    cwd: str | None
    host: str | None
    gpu: str | None
    tsdb: str | None
    first_seq: int
    last_seq: int
    lost: int
    bytes: int
    start_ns: int
    pid: int
    rank: int | None
    ranks: int | None
    soft: bool
    stacks: bool
    timestamps: bool
    observed: bool
    def __init__(self, path: str | PathLike[str]) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Trace: ...
    def __exit__(self, *exc: object) -> None: ...
    @property
    def meta(self) -> dict[str, Any]: ...
    @property
    def damage(self) -> str | None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> Command: ...
    @overload
    def __getitem__(self, index: slice) -> list[Command]: ...
    def __iter__(self) -> Iterator[Command]: ...
    def commands(
        self,
        kind: str | None = ...,
        kernel: str | None = ...,
        stream: int | None = ...,
        condition: str | None = ...,
        first: int = ...,
        last: int = ...,
    ) -> Iterator[Command]: ...
    def columns(
        self,
        *names: str,
        kind: str | None = ...,
        kernel: str | None = ...,
        stream: int | None = ...,
        condition: str | None = ...,
        first: int = ...,
        last: int = ...,
    ) -> Columns: ...
    def state(self, seq: int) -> State: ...
    def _repr_html_(self) -> str: ...
