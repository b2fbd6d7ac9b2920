"""The store of a plan: Zarr arrays with one chunk for each part, and beside them the manifest and the receipts.

    runs/x.zarr/zarr.json                        a group that xarray opens
    runs/x.zarr/omega/c/3/0/0                    the chunk of part 3
    runs/x.zarr/polhode/manifest.json            what was decided
    runs/x.zarr/polhode/partial/0000/000003.npz  what part 3 adds to reductions over bodies
    runs/x.zarr/polhode/parts/0000/000003.json   the receipt of part 3, written last: the part is done

Every file appears whole or not at all, on a disk and in an object store alike. A part that is written twice, because
two workers had it, has the same bits twice.

Nothing is believed unread. Chunks have a CRC-32C, so that any reader of Zarr notices a changed bit; a receipt has a
digest of itself, and one of each array of its part, with which rows are compared when they are read; the attribute
`checksum` of the group covers all attributes, the shapes of all arrays, and the values of those without bodies.
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

from polhode.cluster.manifest import Manifest, PlanError, json_digest
from polhode.files.atomic import whole_file
from polhode.files.checksum import NAME as CHECKSUM
from polhode.files.checksum import Checksum
from polhode.support.extras import needed

if TYPE_CHECKING:
    from xarray import Dataset

PARTS_TOGETHER = 1000
"""The receipts in one directory: each file that is written has its directory looked through for unfinished ones."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""The errors of a disk that no repetition mends."""
MANIFEST = "polhode/manifest.json"
REMEDY = "call verify() of its plan and then run(), or polhode ensemble JOB.toml --verify and then the job again"
"""What to do about a damaged store."""

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
        self._arrays: dict[tuple[str, str], Any] = {}

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
        """The contents of a file; None if there is none."""
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
        """Says of a full disk what to do."""
        try:
            yield
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
        """The numbers of the parts that have a receipt."""
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

    def receipt(self, part: int, plan: str) -> dict[str, Any]:
        """What a part says about itself; raises PlanError unless it is whole, and was made by this plan."""
        raw, what = self.read(_key("parts", part, "json")), f"the receipt of part {part} in {self.path}"
        if raw is None:
            raise PlanError(f"{what} is missing: run the plan again")
        try:
            found: dict[str, Any] = json.loads(raw)
            whole = found.pop("digest") == json_digest(found)
        except (ValueError, KeyError, AttributeError, TypeError):
            whole = False
        if not whole:
            raise PlanError(f"{what} is damaged: {REMEDY}")
        if (found["plan"], found["part"]) != (plan, part):
            raise PlanError(f"{what} belongs to another plan or part: {REMEDY}")
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
            self.write(_key("parts", part, "json"), json.dumps({**about, "digest": json_digest(about)}).encode())

    def states(self, part: int, receipt: Mapping[str, Any]) -> dict[str, Any]:
        """What a part adds to reductions over bodies; raises PlanError unless it is what the receipt says."""
        raw, what = self.read(_key("partial", part, "npz")), f"the partial results of part {part} of {self.path}"
        if raw is None:
            raise PlanError(f"{what} are missing: {REMEDY}")
        states: dict[str, Any] = {}
        try:
            with np.load(io.BytesIO(raw), allow_pickle=False) as file:
                for key in file.files:
                    name, _, item = key.rpartition("/")
                    states.setdefault(name, {})[item] = file[key]
            whole = digests(dict(flattened(states))) == receipt["digests"]["states"]
        except Exception:  # whatever NumPy makes of a damaged file
            whole = False
        if not whole:
            raise PlanError(f"{what} are damaged: {REMEDY}")
        return states

    def rows(self, name: str, part: int, bodies: range, receipt: Mapping[str, Any]) -> Any:
        """The rows of a part, of one array; raises PlanError unless they are what the receipt says."""
        array = self.array(name, "r")
        try:
            found = np.asarray(array[bodies.start : bodies.stop])
            why = (
                ""
                if digest_of(found) == receipt["digests"]["arrays"].get(name)
                else "it differs from the receipt of the part"
            )
        except Exception as problem:  # whatever Zarr and its codecs make of a damaged chunk
            why = f"{type(problem).__name__}: {problem}"
        if why:
            raise PlanError(f"part {part} of {self.path} is damaged in the array {name} ({why}): {REMEDY}")
        return found

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

    def array(self, name: str, mode: str = "r+") -> Any:
        """One of the arrays, opened once."""
        if (name, mode) not in self._arrays:
            # An all-NaN chunk is written, too: it must not look like one that was never made.
            with self._described(f"the array {name}"):
                array = self._zarr.open_array(self._place(), path=name, mode=mode)
                self._arrays[name, mode] = array.with_config({"write_empty_chunks": True})
        return self._arrays[name, mode]

    @contextmanager
    def _described(self, what: str) -> Iterator[None]:
        """Says what to do about a missing or damaged file zarr.json, or a damaged array that all bodies share."""
        try:
            yield
        except PlanError:
            raise
        except Exception as problem:  # whatever Zarr and xarray make of it
            why = f"{type(problem).__name__}: {problem}"
            raise PlanError(f"{what} of {self.path} is missing or damaged ({why}): {REMEDY}") from None

    def create(self, table: Table, count: int, part_bodies: int, attributes: Mapping[str, Any]) -> None:
        """Writes the group and its arrays, one chunk for each part; parts that another process has made are kept."""
        files: dict[str, Any] = {}
        staged = self._zarr.storage.MemoryStore(files)
        root = self._zarr.create_group(staged, zarr_format=3)
        root.create_group("polhode")
        for name, (dims, data, about) in table.items():
            given = np.asarray(data)
            of_bodies = bool(dims) and dims[0] == "body"
            shape = (count, *given.shape[1:]) if of_bodies else given.shape
            chunks = (min(part_bodies, count), *given.shape[1:]) if of_bodies else given.shape
            kind = "string" if given.dtype.kind == "U" else (given := stored(given)).dtype
            empty: Any = {"U": "", "i": -1, "u": 0}.get(given.dtype.kind, np.nan)
            array = root.create_array(
                name, shape=shape, chunks=tuple(max(1, n) for n in chunks), dtype=kind, fill_value=empty,
                compressors=[self._zarr.codecs.ZstdCodec(), self._zarr.codecs.Crc32cCodec()],
                dimension_names=dims, attributes=dict(about), config={"write_empty_chunks": True},
            )  # fmt: skip
            if not of_bodies:
                array[...] = given
        root.attrs.update(attributes)
        root.attrs[CHECKSUM] = _checksum(self._opened(staged, consolidated=False))
        self._consolidate(staged)
        with self.explained():
            for key, contents in sorted(files.items(), reverse=True):  # the group, zarr.json, is the last one
                if self.read(key) != (raw := contents.to_bytes()):
                    self.write(key, raw)
        self._arrays.clear()

    def finish(self, table: Table, count: int, part_bodies: int, attributes: Mapping[str, Any]) -> None:
        """Adds what was made of all parts, arrays without bodies, and the last attributes."""
        before = self._group()
        kept = {
            str(name): (
                tuple(map(str, x.dims)),
                np.empty((1, *x.shape[1:]), x.dtype) if _of_bodies(x) else _plain(x),
                x.attrs,
            )
            for name, x in before.variables.items()
        }
        self.create({**kept, **table}, count, part_bodies, {**before.attrs, **attributes})

    def _consolidate(self, place: Any) -> None:
        with warnings.catch_warnings():  # that version 3 of the format does not speak of it yet
            warnings.simplefilter("ignore")
            self._zarr.consolidate_metadata(place)

    def attributes(self) -> dict[str, Any]:
        """The attributes of the group; none if it is not there yet."""
        if self.read("zarr.json") is None:
            return {}
        with self._described("the description (zarr.json)"):
            return dict(self._zarr.open_group(self._place(), mode="r").attrs)

    def _opened(self, place: Any, **options: Any) -> Dataset:
        found: Dataset = needed("xarray", "a store needs").open_zarr(place, chunks={}, **options)
        return found

    def _group(self) -> Dataset:
        """Opens the group; raises PlanError unless its attributes, shapes and shared values have their checksum."""
        with self._described("the description (zarr.json), or an array without bodies,"):
            found = self._opened(self.path, storage_options=self.options or None)
            if found.attrs.get(CHECKSUM) != _checksum(found):
                raise ValueError("the checksum does not fit")
        return found

    def dataset(self, manifest: Manifest) -> Dataset:
        """Opens everything as an xarray Dataset, whose rows are read, and compared, when they are needed."""
        import dask.array

        found = self._group()
        for name, x in found.variables.items():
            if _of_bodies(x):
                rows = dask.array.map_blocks(  # type: ignore[no-untyped-call]
                    _block, self, manifest, str(name), chunks=x.chunks, dtype=x.dtype,
                    meta=np.empty((0,) * x.ndim, x.dtype),
                )  # fmt: skip
                found[name] = (x.dims, rows, x.attrs)
        return found


def _block(store: Store, manifest: Manifest, name: str, block_id: tuple[int, ...]) -> Any:
    part = block_id[0]
    return store.rows(name, part, manifest.bodies(part), store.receipt(part, manifest.digest))


def _of_bodies(x: Any) -> bool:
    return bool(x.dims[:1] == ("body",))


def _plain(x: Any) -> Any:
    """The values of an array without bodies; text as NumPy has it."""
    values = np.asarray(x)
    return np.array(values.tolist(), dtype=str) if values.dtype.kind in "OT" else values


def _checksum(group: Dataset) -> str:
    """The checksum of all but the rows of bodies, of which there are the shape and the type."""
    total = Checksum()
    total.add_attributes(group.attrs)
    for name, x in group.variables.items():
        data = np.array([f"{x.shape} {x.dtype.str} {x.chunks}"]) if _of_bodies(x) else _plain(x)
        total.add_variable(str(name), map(str, x.dims), data, x.attrs)
    return total.text()


def stored(data: Any) -> Any:
    """Numbers as they are stored: truth values as small integers, whose -1 means that there is none yet."""
    data = np.asarray(data)
    return data.astype(np.int8) if data.dtype.kind == "b" else data


def _zarr_module() -> Any:
    needed("dask.array", "a store needs")
    return needed("zarr", "a store needs")


def _key(kind: str, part: int, ending: str) -> str:
    return f"polhode/{kind}/{part // PARTS_TOGETHER:04}/{part:06}.{ending}"


def flattened(states: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yields the arrays of the states of reductions, each under one name."""
    for name, state in states.items():
        for item, x in state.items():
            yield f"{name}/{item}", np.asarray(x)


def digests(arrays: Mapping[str, Any]) -> dict[str, str]:
    """The SHA-256 of every array."""
    return {name: digest_of(x) for name, x in arrays.items()}


def digest_of(x: Any) -> str:
    """The SHA-256 of an array: of its type, its shape and all its bits."""
    data = np.ascontiguousarray(x)
    total = hashlib.sha256(f"{data.dtype.str} {data.shape}\n".encode())
    total.update(data.data if data.size else b"")
    return total.hexdigest()
