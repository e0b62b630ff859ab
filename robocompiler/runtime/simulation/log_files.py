"""Logs on disk: parts that are whole at any moment while a run goes on, one NPZ or Parquet file when it has ended.

While running, blocks of rows are written to PATH.parts/000000.npy, ... beside PATH, each to a temporary name and then
renamed, so that a killed process leaves all that was flushed.  At the end they become PATH, and the folder goes away.
`read_log` reads either.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import path as file_path
from robocompiler.errors import ArgumentError, MissingPackageError
from robocompiler.runtime.simulation.columns import Column, columns_from_json, columns_to_json
from robocompiler.runtime.simulation.log import Log

Array = NDArray[np.float64]

FORMATS = (".npz", ".parquet")
_COLUMNS = "columns.json"
_KEY = b"robocompiler.columns"


def parts_folder(path: Path) -> Path:
    """Where the parts of a log lie while it is written."""
    return path.with_name(path.name + ".parts")


class PartWriter:
    """Writes the parts of one log."""

    def __init__(self, path: str | Path, columns: tuple[Column, ...]) -> None:
        """ArgumentError: neither .npz nor .parquet, no such folder, or parts of another run there.

        MissingPackageError and OSError as they come.
        """
        self.path = file_path(path, "log")
        if self.path.suffix not in FORMATS:
            raise ArgumentError(f"{path}: a log is a {' or '.join(FORMATS)} file")
        if self.path.suffix == ".parquet":
            _parquet()
        self._folder = parts_folder(self.path)
        if self._folder.exists():
            raise ArgumentError(
                f"{self._folder} holds the log of a run that was killed, or of one that is going on: read it with "
                f"read_log({str(path)!r}), then remove it, or log elsewhere"
            )
        if not self.path.parent.is_dir():
            raise ArgumentError(f"{self.path}: there is no folder {self.path.parent} to log into; make it first")
        self._folder.mkdir()
        (self._folder / _COLUMNS).write_text(columns_to_json(columns), encoding="utf-8")
        self._columns, self._count = columns, 0

    def write(self, rows: Array) -> None:
        """Write a part; it is there as a whole or not at all."""
        temporary = self._folder / "unfinished"
        with temporary.open("wb") as stream:
            np.save(stream, rows)
        temporary.replace(self._folder / f"{self._count:06d}.npy")
        self._count += 1

    def finish(self) -> None:
        """Make the file of the parts, and remove them."""
        parts = _parts(self._folder)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            writer = _write_npz if self.path.suffix == ".npz" else _write_parquet
            writer(temporary, self._columns, parts)
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)
        shutil.rmtree(self._folder)


def read_log(path: str | Path) -> Log:
    """The log of a simulation, .npz or .parquet; of a run that was killed, what it had flushed.

    Raises FileNotFoundError; ValueError for a file that is no log; MissingPackageError without pyarrow.
    """
    path = file_path(path, "path")
    if path.suffix not in FORMATS:
        raise ArgumentError(f"{path}: a log is a {' or '.join(FORMATS)} file")
    folder = parts_folder(path)
    if not path.exists() and folder.is_dir():
        columns = columns_from_json((folder / _COLUMNS).read_text(encoding="utf-8"))
        blocks = [np.load(part) for part in _parts(folder)]
        return Log(columns, np.concatenate(blocks) if blocks else np.zeros((0, len(columns))), complete=False)
    return _read_npz(path) if path.suffix == ".npz" else _read_parquet(path)


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.npy"))


# --- NPZ: one array per column, streamed part by part ---


def _write_npz(path: Path, columns: tuple[Column, ...], parts: Sequence[Path]) -> None:
    count = sum(np.load(part, mmap_mode="r").shape[0] for part in parts)
    header = {"descr": "<f8", "fortran_order": False, "shape": (count,)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("columns.npy", "w") as stream:
            np.save(stream, np.array(columns_to_json(columns)))
        for k, column in enumerate(columns):
            with archive.open(f"{column.title}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array_header_1_0(stream, header)
                for part in parts:
                    stream.write(np.ascontiguousarray(np.load(part, mmap_mode="r")[:, k], dtype="<f8").tobytes())


def _read_npz(path: Path) -> Log:
    try:
        with np.load(path, allow_pickle=False) as data:
            columns = columns_from_json(str(data["columns"]))
            return Log(columns, np.stack([data[column.title] for column in columns], axis=1))
    except (KeyError, zipfile.BadZipFile) as error:
        raise ArgumentError(f"{path}: not the log of a simulation ({error})") from None


# --- Parquet: one column each, one row group per part; columns and units in the file's metadata ---


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingPackageError(
            "a Parquet log needs pyarrow: pip install 'robocompiler[simulate]', or log to a .npz file"
        ) from None
    return pyarrow


def _write_parquet(path: Path, columns: tuple[Column, ...], parts: Sequence[Path]) -> None:
    arrow = _parquet()
    fields = [
        arrow.field(column.title, arrow.float64(), nullable=False, metadata={"unit": column.unit}) for column in columns
    ]
    schema = arrow.schema(fields, metadata={_KEY: columns_to_json(columns)})
    with arrow.parquet.ParquetWriter(path, schema) as writer:
        for part in parts:
            rows = np.load(part)
            arrays = [arrow.array(np.ascontiguousarray(rows[:, k])) for k in range(len(columns))]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _read_parquet(path: Path) -> Log:
    arrow = _parquet()
    try:
        table = arrow.parquet.read_table(path)
        columns = columns_from_json(table.schema.metadata[_KEY].decode())
    except (arrow.ArrowInvalid, KeyError, TypeError) as error:
        raise ArgumentError(f"{path}: not the log of a simulation ({error})") from None
    return Log(columns, np.stack([table.column(column.title).to_numpy() for column in columns], axis=1))
