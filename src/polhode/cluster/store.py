"""The store of a plan: Zarr arrays with one chunk for each part, and beside them the manifest and the receipts.

    runs/x.zarr/zarr.json                        a group that xarray opens
    runs/x.zarr/omega/c/3/0/0                    the chunk of part 3
    runs/x.zarr/polhode/manifest.json            what was decided
    runs/x.zarr/polhode/partial/0000/000003.npz  what part 3 adds to reductions over bodies
    runs/x.zarr/polhode/parts/0000/000003.json   the receipt of part 3, written last: the part is done

Every file appears whole or not at all, on a disk and in an object store alike. A part that is written twice, because
two workers had it, has the same bits twice.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.cluster.manifest import PlanError
from polhode.io.atomic import whole_file

if TYPE_CHECKING:
    from xarray import Dataset

PARTS_TOGETHER = 1000
"""The receipts in one directory: each file that is written has its directory looked through for unfinished ones."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""The errors of a disk that no repetition mends."""
MANIFEST = "polhode/manifest.json"
NEEDED = "pip install 'polhode[cluster]'"

Table = Mapping[str, tuple[tuple[str, ...], Any, Mapping[str, Any]]]
"""Dimensions, values and attributes of arrays, by their names."""


class Store:
    """Files and arrays under one path: a directory, or any path that fsspec knows, such as s3://bucket/x.zarr."""

    def __init__(self, path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> None:
        """Takes the path, and what fsspec needs to know about a remote one."""
        text = os.fspath(path)
        self.is_remote = "://" in text.removeprefix("file://")
        # Whole, because workers may have another current directory, and write there what nobody would find.
        self.path = text.rstrip("/") if self.is_remote else os.path.abspath(text.removeprefix("file://"))
        self.options = dict(options or {})
        if self.options and not self.is_remote:
            raise ValueError(f"storage_options are for remote stores such as s3://bucket/x.zarr, not for {self.path}")
        if not self.is_remote and os.path.lexists(self.path) and not os.path.isdir(self.path):
            raise PlanError(f"the store {self.path} is a file: a store is a directory, choose another name")
        self._arrays: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Store({self.path!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "is_remote": self.is_remote, "options": self.options, "_arrays": {}}

    @cached_property
    def _files(self) -> Any:
        from fsspec.core import url_to_fs

        return url_to_fs(self.path, **self.options)[0]

    def _at(self, key: str) -> str:
        return f"{self.path}/{key}"

    # --- files

    def read(self, key: str) -> bytes | None:
        """Returns the contents of a file; None if there is none."""
        try:
            if self.is_remote:
                return bytes(self._files.cat_file(self._at(key)))
            return Path(self._at(key)).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, key: str, contents: bytes, *, new: bool = False) -> None:
        """Writes a file, which appears whole or not at all; raises FileExistsError if a `new` one is there already."""
        if self.is_remote:
            self._put_file(self._at(key), contents, new)
            return
        path = Path(self._at(key))
        with self.explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path, overwrite=not new) as file:
                file.write(contents)

    def _put_file(self, path: str, contents: bytes, new: bool) -> None:
        """Writes a remote file; of several processes that write a `new` one at once, one succeeds, if the store can."""
        taken = FileExistsError(f"{path} exists already")
        if not new:
            self._files.pipe_file(path, contents)
        elif self._files.exists(path):
            raise taken
        else:
            try:
                self._files.pipe_file(path, contents, mode="create")  # S3: If-None-Match
            except FileExistsError:
                raise taken from None
            except TypeError:  # a file system that knows no modes: who looks and writes at the same time is not seen
                self._files.pipe_file(path, contents)

    def remove(self, key: str) -> None:
        """Removes a file, if it is there."""
        with suppress(FileNotFoundError):
            if self.is_remote:
                self._files.rm_file(self._at(key))
            else:
                Path(self._at(key)).unlink()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Says of a full disk, or of a damaged store, what to do."""
        try:
            yield
        except json.JSONDecodeError as problem:
            raise PlanError(
                f"a file zarr.json in {self.path} is damaged ({problem}): delete the store, and plan anew"
            ) from None
        except OSError as problem:
            if problem.errno not in FULL:
                raise
            why = os.strerror(problem.errno)
            raise OSError(
                problem.errno,
                f"cannot write to the store {self.path} ({why}): parts that are finished are kept; make room, and run "
                "the plan again",
            ) from None

    # --- parts

    def done(self) -> set[int]:
        """Returns the numbers of the parts that have a receipt."""
        found: set[int] = set()
        for name in self._names("polhode/parts"):
            found |= {
                int(file[:-5]) for file in self._names(f"polhode/parts/{name}") if file[:-5].isdigit()
            }  # fmt: skip
        return found

    def _names(self, folder: str) -> list[str]:
        try:
            if self.is_remote:
                self._files.invalidate_cache()
                return [str(n).rstrip("/").rpartition("/")[2] for n in self._files.ls(self._at(folder), detail=False)]
            return os.listdir(self._at(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def receipt(self, part: int) -> dict[str, Any] | None:
        """Returns what a part says about itself; None if it is not done."""
        raw = self.read(_key("parts", part, "json"))
        if raw is None:
            return None
        try:
            found: dict[str, Any] = json.loads(raw)
            if not {"first", "beyond", "finished"} <= found.keys():
                raise ValueError("something is missing")
        except (ValueError, AttributeError):
            raise PlanError(
                f"the receipt of part {part} in {self.path} is damaged: call verify() of the plan"
            ) from None
        return found

    def write_part(self, part: int, bodies: range, arrays: Table, states: Mapping[str, Any], about: Any) -> None:
        """Writes the chunks of a part, what it adds to reductions, and its receipt, in this order."""
        with self.explained():
            for name, (_, data, _) in arrays.items():
                self.array(name)[bodies.start : bodies.stop] = data
            if states:
                file = io.BytesIO()
                np.savez(file, **dict(flattened(states)))
                self.write(_key("partial", part, "npz"), file.getvalue())
            self.write(_key("parts", part, "json"), json.dumps(about).encode())

    def states(self, part: int) -> dict[str, Any]:
        """Returns what a part adds to reductions over bodies."""
        raw = self.read(_key("partial", part, "npz"))
        if raw is None:
            raise PlanError(
                f"part {part} of {self.path} is marked as done, but its partial results are missing: call verify() of "
                "the plan, and run it again"
            )
        states: dict[str, Any] = {}
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            for key in file.files:
                name, _, item = key.rpartition("/")
                states.setdefault(name, {})[item] = file[key]
        return states

    def chunks(self, bodies: range, names: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the rows of some bodies, of the named arrays."""
        return {name: self.array(name)[bodies.start : bodies.stop] for name in names}

    def forget(self, part: int) -> None:
        """Removes the receipt of a part, which will be run again."""
        self.remove(_key("parts", part, "json"))

    # --- arrays

    @cached_property
    def _zarr(self) -> Any:
        return _zarr_module()

    def _place(self) -> Any:
        if not self.is_remote:
            return self.path
        return self._zarr.storage.FsspecStore.from_url(self.path, storage_options=self.options)

    def array(self, name: str) -> Any:
        """Returns one of the arrays, opened once."""
        if name not in self._arrays:
            # An all-NaN chunk is written, too: it must not look like one that was never made.
            try:
                array = self._zarr.open_array(self._place(), path=name, mode="r+")
            except (ValueError, KeyError, FileNotFoundError) as problem:
                what = f"the array {name} of {self.path} is missing or damaged ({problem})"
                raise PlanError(f"{what}: delete the store, and plan anew") from None
            self._arrays[name] = array.with_config({"write_empty_chunks": True})
        return self._arrays[name]

    def create(self, table: Table, count: int, part_bodies: int, attributes: Mapping[str, Any]) -> None:
        """Makes the group and its arrays: those over bodies have room for all, with one chunk for each part."""
        with self.explained():
            if not self.is_remote:
                os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            root = self._zarr.open_group(self._place(), mode="a", zarr_format=3)
            root.require_group("polhode")
            self._put(root, table, count, part_bodies, attributes)

    def finish(self, table: Table, attributes: Mapping[str, Any]) -> None:
        """Writes what was made of all parts, arrays without bodies, and the last attributes."""
        with self.explained():
            self._put(self._zarr.open_group(self._place(), mode="r+", zarr_format=3), table, 0, 0, attributes)

    def _put(self, root: Any, table: Table, count: int, part_bodies: int, attributes: Mapping[str, Any]) -> None:
        from zarr.errors import ContainsArrayError

        for name, (dims, data, about) in table.items():
            given = np.asarray(data)
            of_bodies = bool(dims) and dims[0] == "body"
            shape = (count, *given.shape[1:]) if of_bodies else given.shape
            chunks = (min(part_bodies, count), *given.shape[1:]) if of_bodies else given.shape
            kind = "string" if given.dtype.kind == "U" else (given := stored(given)).dtype
            empty: Any = {"U": "", "i": -1, "u": 0}.get(given.dtype.kind, np.nan)
            wanted = {
                "shape": shape, "chunks": tuple(max(1, n) for n in chunks), "dtype": kind, "fill_value": empty,
                "dimension_names": dims, "attributes": dict(about), "config": {"write_empty_chunks": True},
            }  # fmt: skip
            try:
                array = root.create_array(name, **wanted)
            except ContainsArrayError:  # by another process that makes the same, and may have put parts there already
                array = self.array(name)
                if (array.shape, array.chunks) != (shape, wanted["chunks"]):  # of a plan whose manifest was deleted
                    array = root.create_array(name, **wanted, overwrite=True)
            if not of_bodies:
                array[...] = given
        root.attrs.update(attributes)
        with warnings.catch_warnings():  # that version 3 of the format does not speak of it yet
            warnings.simplefilter("ignore")
            self._zarr.consolidate_metadata(self._place())

    def attributes(self) -> dict[str, Any]:
        """Returns the attributes of the group; none if it is not there yet."""
        if self.read("zarr.json") is None:
            return {}
        return dict(self._zarr.open_group(self._place(), mode="r").attrs)

    def dataset(self) -> Dataset:
        """Opens everything as an xarray Dataset, whose arrays are read when they are needed."""
        from xarray import open_zarr

        found: Dataset = open_zarr(self.path, chunks={}, storage_options=self.options or None)
        return found


def stored(data: Any) -> Any:
    """Returns numbers as they are stored: truth values as small integers, whose -1 means that there is none yet."""
    data = np.asarray(data)
    return data.astype(np.int8) if data.dtype.kind == "b" else data


def _zarr_module() -> Any:
    try:
        import dask.array
        import zarr
    except ImportError as missing:
        raise ImportError(f"a store needs {missing.name}: {NEEDED}") from None
    del dask
    return zarr


def _key(kind: str, part: int, ending: str) -> str:
    return f"polhode/{kind}/{part // PARTS_TOGETHER:04}/{part:06}.{ending}"


def flattened(states: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yields the arrays of the states of reductions, each under one name."""
    for name, state in states.items():
        for item, x in state.items():
            yield f"{name}/{item}", np.asarray(x)


def fingerprint(arrays: Mapping[str, Any], states: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the SHA-256 of all bits of a part: of its arrays, and of what it adds to reductions."""
    total = hashlib.sha256()
    for name, x in sorted([*arrays.items(), *flattened(states)], key=lambda item: item[0]):
        data = np.ascontiguousarray(x)
        total.update(f"{name} {data.dtype.str} {data.shape}\n".encode())
        total.update(data.data if data.size else b"")
    return total.hexdigest()
