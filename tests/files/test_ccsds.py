"""CCSDS attitude files: those of others, and those that polhode writes."""

import json
import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BarycentricInterpolator
from scipy.spatial.transform import Rotation, Slerp

import polhode as ph
from polhode.files import nodes
from polhode.files.ccsds import AttitudeHistory
from polhode.files.netcdf import BadFile
from polhode.solution import Solution
from polhode.support.arrays import Floats

FILES = Path(__file__).parents[3] / "shared" / "data" / "orekit_ccsds"
needs_files = pytest.mark.skipif(not FILES.is_dir(), reason="the files of others are not there (../shared/data)")
ABOUT: dict[str, Any] = {"object_name": "POLHODE 1", "object_id": "2026-001A", "epoch": "2026-01-01T00:00:00"}

BAD = [
    "acm/incompatible-keys",
    "acm/missing-center-of-pressure",
    "acm/missing-sensor-index",
    "acm/missing-target-momentum",
    "acm/sensor-index-already-used",
    "acm/spurious-metadata",
    "acm/wrong-stddev-number",
    "aem/AEM-ephemeris-number-format-error",
    "aem/AEM-inconsistent-direction",
    "aem/AEM-inconsistent-quaternion-type",
    "aem/AEM-inconsistent-rotation-sequence",
    "aem/AEM-keyword-within-ephemeris",
    "aem/AEM-missing-attitude-type",
    "aem/AEM-wrong-keyword",
    "aem/spurious-metadata",
    "apm/APM-inconsistent-time-systems",
    "apm/APM-missing-Euler-sequence",
    "apm/APM-missing-frame",
    "apm/APM-missing-quaternion-component",
    "apm/APM-no-attitude",
    "apm/APM-no-logical-blocks",
    "apm/APM-no-spacecraft-frames",
    "apm/APM-number-format-error",
    "apm/APM-repeated-Euler-angle",
    "apm/APM-repeated-Euler-rate",
    "apm/APM-two-spacecraft-frames",
    "apm/APM-unknown-frame",
    "apm/APM-wrong-Euler-sequence",
    "apm/APM-wrong-keyword",
    "apm/spurious-metadata",
]
"""Files with an error on purpose. (APM-unsupported-orbit-relative-frame is none: its frame is in the registry.)"""

WITHOUT_ATTITUDE = [f"acm/ACMExample0{k}" for k in (3, 4, 7, 8, 9)]
IN_PIECES = ["acm/ACM-frame-mapper", "acm/ACMExample05", "aem/AEMExample14", "aem/AEMExample17"]
"""Their segments overlap or have other frames: they are read one by one."""


def known(values: Floats | None) -> Floats:
    assert values is not None
    return values


def outcome(path: Path) -> Any:
    """What is read, or the error."""
    try:
        return ph.read_apm(path) if path.parent.name == "apm" else ph.read_aem(path)
    except BadFile as problem:
        return str(problem)


@needs_files
def test_every_file_of_others_is_read_or_refused_with_its_line() -> None:
    counts = {"read": 0, "in pieces": 0, "no attitude": 0, "bad": 0}
    for path in sorted(FILES.glob("*/*")):
        name, found = f"{path.parent.name}/{path.stem}", outcome(path)
        if not isinstance(found, str):
            assert name not in BAD, name
            assert np.allclose(np.linalg.norm(np.atleast_2d(found.quaternion), axis=1), 1.0, atol=1e-14)
            counts["read"] += 1
            continue
        assert re.match(rf"{re.escape(str(path))}, line \d+: \S", found), found
        if name in IN_PIECES:
            assert "segment=0 to 4" in found
            assert all(ph.read_aem(path, segment=k).t.size >= 2 for k in range(5))
            counts["in pieces"] += 1
        elif name in WITHOUT_ATTITUDE:
            assert "holds no attitudes" in found
            counts["no attitude"] += 1
        else:
            assert name in BAD, found
            counts["bad"] += 1
    assert counts == {"read": 49, "in pieces": 4, "no attitude": 5, "bad": 30}  # 58 and 30


@needs_files
def test_attitudes_are_those_of_orekit() -> None:
    """Orekit 13.1 has read the same files (with other centres and frames, for which it would need more files)."""
    known = json.loads((Path(__file__).parent / "orekit_attitudes.json").read_text())
    compared = 0
    for name, segments in known.items():
        for k, expected in enumerate(segments):
            found = ph.read_aem(FILES / "aem" / name, segment=k)
            t, *numbers = expected["last"]
            q, w = np.array(numbers[:4]), np.array(numbers[4:])
            assert found.t.size == expected["rows"]
            assert found.t[-1] == t
            assert 1.0 - abs(found.quaternion[-1] @ q) < 1e-14
            if found.omega is None:
                assert not w.any()
            else:
                np.testing.assert_allclose(found.omega[-1], w, atol=1e-14 * np.abs(w).max())
            compared += 1
    assert compared == 31


@needs_files
def test_one_state_in_many_forms() -> None:
    """Orekit has written one state in ten forms."""
    q, w = (
        [0.6184633325084984, -0.6447327809733585, -0.3463409538535587, -0.28613054916357517],
        np.radians([0.0031504176144069016, -0.0596101304816182, 2.9095159008651856e-4]),
    )
    rates = ["angvel", "euler-angles-rates", "euler-rates", "rates"]
    names = [
        "quaternion",
        *(f"quaternion-{x}" for x in rates),
        "euler-angles",
        "euler-angles-angvel",
        "euler-angles-rates",
    ]
    for name in [*names, "spin", "spin-nutation", "spin-nutation-momentum"]:
        state = ph.read_apm(FILES / "apm" / f"APM-{name}.xml")
        assert abs(state.quaternion @ np.array(q)) > 1 - 1e-14, name
        if name in ("quaternion", "euler-angles"):
            assert state.omega is None
        elif name == "spin":
            np.testing.assert_allclose(known(state.omega), [0.0, 0.0, w[2]], atol=1e-18)
        elif name != "spin-nutation-momentum":  # which has the declination of the momentum in radians, by mistake
            np.testing.assert_allclose(known(state.omega), w, atol=1e-15, err_msg=name)


@needs_files
def test_angles_and_quaternions_of_one_spacecraft_agree() -> None:
    """Quaternions and Euler angles of the MMS, from NASA: both conventions are right, or both are wrong in one way."""
    path = FILES / "aem" / "AEMExample14.txt"
    by_quaternion, by_angles = ph.read_aem(path, segment=3), ph.read_aem(path, segment=4)
    assert (by_quaternion.attitude.inv() * by_angles.attitude).magnitude().max() < 2e-5
    assert by_quaternion.omega is not None
    turned = (
        by_quaternion.attitude[:-1].inv() * by_quaternion.attitude[1:]
    ).as_rotvec()  # 182 degrees: known but for turns
    expected = by_quaternion.omega[:-1, 2] * 10 - 2 * np.pi
    np.testing.assert_allclose(turned[:, 2], expected, atol=0.02)


@needs_files
def test_a_state_begins_a_run(plain: None) -> None:
    state = ph.read_apm(FILES / "apm" / "APMExample09.txt")
    assert state.inertia is not None
    assert state.maneuvers[0].t_start == 3600.0
    assert state.maneuvers[0].torque == (1.0, 0.0, 0.0)
    s = ph.simulate(ph.Body(state.inertia), **state.initial(), t_span=(0, 10), rtol=1e-9)
    assert s.success
    with pytest.raises(ValueError, match="ITRF-97 turns in space"):
        ph.read_apm(FILES / "apm" / "APMExample04.txt").initial()
    with pytest.raises(ValueError, match="has no rates"):
        ph.read_apm(FILES / "apm" / "APM-quaternion.xml").initial()


# --- what polhode writes -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tumbling() -> Solution:
    return ph.simulate(ph.Body([1.0, 2.0, 2.8]), omega=[0.1, 1.0, 0.2], t_span=(0, 30), rtol=1e-12)


def worst(found: Rotation, true: Rotation) -> float:
    return float((found.inv() * true).magnitude().max())


def by_polynomials(h: AttitudeHistory, t: Any, degree: int) -> Rotation:
    """Interpolated by SciPy, with the nearest nodes."""
    rows = []
    for x in t:
        k = int(np.clip(np.searchsorted(h.t, x, side="right") - 1 - degree // 2, 0, h.t.size - 1 - degree))
        here = slice(k, k + degree + 1)
        rows.append(BarycentricInterpolator(h.t[here], h.quaternion[here])(x))
    return Rotation.from_quat(np.array(rows), scalar_first=True)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_lagrange_keeps_its_bound(tumbling: Solution, tmp_path: Path, tolerance: float) -> None:
    made = tumbling.to_aem(tmp_path / "a.aem", tolerance=tolerance, **ABOUT)
    h = ph.read_aem(tmp_path / "a.aem")
    t = np.random.default_rng(5).uniform(0, 30, 500)
    t[:60] = np.linspace(0.0, 3 * h.t[1], 60)  # near the end it is worst
    error = worst(by_polynomials(h, t, 7), tumbling.at(t).attitude)
    assert made.bound is not None
    assert made.measured is not None
    assert error <= made.bound <= tolerance
    assert error > 0.4 * made.bound  # no more rows than are needed
    assert h.interpolation == ("LAGRANGE", 7)
    assert any(f"error at most {made.bound:.3g} rad" in text for text in h.comments)


def test_linear_keeps_its_bound(tumbling: Solution, tmp_path: Path) -> None:
    """For readers who go along the arc, and for those who interpolate components."""
    made = tumbling.to_aem(tmp_path / "a.aem", tolerance=1e-4, interpolation="linear", **ABOUT)
    h = ph.read_aem(tmp_path / "a.aem")
    t = np.random.default_rng(6).uniform(0, 30, 5000)
    true = tumbling.at(t).attitude
    along = worst(Slerp(h.t, h.attitude)(t), true)
    assert made.bound is not None
    assert 0.7 * made.bound < max(along, worst(by_polynomials(h, t[:500], 1), true[:500])) <= made.bound <= 1e-4
    assert h.interpolation == ("LINEAR", 1)


def test_the_bound_along_arcs_holds() -> None:
    """h^2/8 max|dw/dt| (1 + (|w| h)^2 / 30), for bodies and steps of all kinds."""
    rng, ratios = np.random.default_rng(7), []
    for h in (0.01, 0.1, 0.5, 1.0, 1.8):
        for _ in range(8):
            moments = np.sort(rng.uniform(0.3, 1.0, 3))
            moments[2] = min(moments[2], 0.99 * (moments[0] + moments[1]))
            w = rng.normal(size=3)
            motion = ph.FreeMotion(ph.Body(moments.tolist()), omega=w / np.linalg.norm(w))
            t = np.arange(10.0) * h
            middle = (t[1:] + t[:-1]) / 2
            states, between = motion.at(t), motion.at(middle)
            x = np.linspace(0.0, t[-1], 300)
            error = worst(Slerp(t, states.attitude)(x), motion.at(x).attitude)
            ratios.append(error / nodes.arc_bounds(t, states.omega, middle, between.omega).max())
    assert 0.8 < max(ratios) <= 1.0


def test_rows_come_back_to_the_last_bit(tumbling: Solution, tmp_path: Path) -> None:
    late = tumbling.with_epoch("2016-12-31T23:59:45")  # a leap second falls into the run
    about = {k: ABOUT[k] for k in ("object_name", "object_id")}
    late.to_aem(tmp_path / "utc.aem", **about)
    late.to_aem(tmp_path / "tai.aem", time_system="TAI", **about)
    utc, tai = ph.read_aem(tmp_path / "utc.aem"), ph.read_aem(tmp_path / "tai.aem")
    assert "2016-12-31T23:59:60" in (tmp_path / "utc.aem").read_text()
    assert np.array_equal(utc.t, tai.t)
    assert utc.epoch.to("TAI") == tai.epoch
    assert (utc.t[0], utc.t[-1]) == (0.0, 30.0)
    there = late.at(utc.t)
    assert np.abs(np.abs(np.sum(utc.quaternion * there.quaternion, axis=1)) - 1).max() < 4e-16
    np.testing.assert_allclose(known(utc.omega), np.asarray(there.omega), rtol=0, atol=2e-16)
    assert (np.sum(utc.quaternion[1:] * utc.quaternion[:-1], axis=1) > 0).all()
    assert utc.frames == ("EME2000", "SC_BODY_1")


def test_another_library_reads_the_same(tumbling: Solution, tmp_path: Path) -> None:
    library = pytest.importorskip("ccsds_ndm", reason="ccsds-ndm-py is not installed (the extra ccsds)")
    tumbling.to_aem(tmp_path / "a.aem", **ABOUT)
    text = (tmp_path / "a.aem").read_text()
    ours, theirs = ph.read_aem(tmp_path / "a.aem"), library.Aem.from_str(text).segments[0]
    assert np.array_equal(theirs.data.attitude_states_numpy[:, [3, 0, 1, 2]], ours.quaternion)
    assert theirs.metadata.interpolation_degree == 7
    tumbling.to_apm(tmp_path / "a.apm", **ABOUT)
    assert isinstance(library.Apm.from_str((tmp_path / "a.apm").read_text()), library.Apm)
    tumbling.to_acm(tmp_path / "a.acm", **ABOUT)
    theirs = library.Acm.from_str((tmp_path / "a.acm").read_text()).segment.data
    assert len(theirs.att[0].att_lines) == ours.t.size


def test_acm(tumbling: Solution, plain: None, tmp_path: Path) -> None:
    """Times are seconds from the epoch, through a leap second, and from before it; the inertia tensor comes along."""
    about = ABOUT | {"epoch": "2016-12-31T23:59:45.123456789"}
    made = tumbling.to_acm(tmp_path / "a.acm", tolerance=1e-6, **about)
    tumbling.to_aem(tmp_path / "a.aem", tolerance=1e-6, **about)
    found, same = ph.read_aem(tmp_path / "a.acm"), ph.read_aem(tmp_path / "a.aem")
    assert np.array_equal(found.t, same.t)
    assert np.array_equal(found.quaternion, same.quaternion)
    assert np.array_equal(known(found.omega), known(same.omega))
    assert (found.epoch, found.frames, found.object_id) == (same.epoch, same.frames, "2026-001A")
    assert np.array_equal(known(found.inertia), tumbling.body.tensor)
    assert any(f"error at most {made.bound:.3g} rad (LAGRANGE, degree 7" in text for text in found.comments)
    torque = ph.PiecewiseTorque(((0.3, (0.5, 0.0, 0.0)),))
    s = ph.simulate(ph.Body([1, 2, 2.8]), torque, omega=[0.1, 0.4, 0.2], t_span=(-1, 1), method="MR2", step=0.05)
    assert s.to_acm(tmp_path / "b.acm", **ABOUT).segments == 3
    both = ph.read_aem(tmp_path / "b.acm")
    assert [both.t[k] for k in both.segment_starts] == [0.0, 1.0, 1.3]
    assert str(both.epoch) == "2025-12-31T23:59:59"
    with pytest.raises(FileExistsError):
        s.to_acm(tmp_path / "b.acm", **ABOUT)


def test_states_come_back(tumbling: Solution, tmp_path: Path) -> None:
    body = ph.Body([[2.0, 0.1, 0.0], [0.1, 3.0, -0.2], [0.0, -0.2, 4.0]])
    s = ph.simulate(body, omega=[0.3, -0.2, 0.1], t_span=(0, 5), rtol=1e-9)
    s.to_apm(tmp_path / "a.apm", t=2.5, time_system="TT", **ABOUT)
    state, there = ph.read_apm(tmp_path / "a.apm"), s.at([2.5])
    assert str(state.epoch) == "2026-01-01T00:00:02.5"
    assert state.epoch.system == "TT"
    assert (state.attitude.inv() * there.attitude[0]).magnitude() < 1e-15
    np.testing.assert_allclose(known(state.omega), there.omega[0], atol=1e-16)
    assert np.array_equal(known(state.inertia), body.tensor)
    s.to_apm(tmp_path / "end.apm", **ABOUT)
    assert str(ph.read_apm(tmp_path / "end.apm").epoch) == "2026-01-01T00:00:05"


def test_a_segment_ends_at_every_breakpoint(plain: None, tmp_path: Path) -> None:
    torque = ph.PiecewiseTorque(((0.7, (0.5, 0.0, 0.0)), (1.3, (0.0, -2.0, 0.0))))
    s = ph.simulate(ph.Body([1, 2, 2.8]), torque, omega=[0.1, 0.4, 0.2], t_span=(0, 2), method="MR2", step=0.05)
    made = s.to_aem(tmp_path / "a.aem", tolerance=1e-7, **ABOUT)
    h = ph.read_aem(tmp_path / "a.aem")
    assert made.segments == 3
    assert [h.t[k] for k in h.segment_starts] == [0.0, 0.7, 1.3]
    assert (np.diff(h.t) > 0).all()
    starts = [*h.segment_starts, h.t.size - 1]
    for k, (first, last) in enumerate(pairwise(starts)):
        part = ph.read_aem(tmp_path / "a.aem", segment=k)
        assert part.interpolation is not None
        t = np.linspace(h.t[first], h.t[last], 40)
        error = worst(by_polynomials(part, t - h.t[first], part.interpolation[1]), s.at(t).attitude)
        assert made.bound is not None
        assert error <= made.bound <= 1e-7


def brake(t: float, q: Any, w: Any, p: Any) -> Any:
    return -0.02 * w[0] - 0.05 * q[1], -0.02 * w[1] - 0.05 * q[2], -0.02 * w[2] - 0.05 * q[3]


@pytest.fixture
def sampled(plain: None) -> Solution:
    """A motion of a hundred bends, most of which are weak."""
    law = ph.Sampled(0.5, brake, compiled=False)
    return ph.simulate(
        ph.Body([1, 2, 2.8]), law, omega=[0.1, 0.3, 0.2], t_span=(0, 50), method="RK4", step=0.125, every=4
    )


@pytest.mark.parametrize(
    ("tolerance", "interpolation", "segments"),
    [(1e-3, "LAGRANGE", 1), (1e-4, "LAGRANGE", 1), (1e-3, "LINEAR", 1), (1e-9, "LAGRANGE", 100)],
)
def test_a_segment_goes_on_over_weak_bends(
    sampled: Solution, tmp_path: Path, tolerance: float, interpolation: str, segments: int
) -> None:
    made = sampled.to_aem(tmp_path / "a.aem", tolerance=tolerance, interpolation=interpolation, **ABOUT)
    assert made.segments == segments
    assert made.bound is not None
    assert made.bound <= tolerance
    for k in range(0, segments, 7):
        part = ph.read_aem(tmp_path / "a.aem", segment=k)
        t = np.sort(np.random.default_rng(k).uniform(0.0, part.t[-1], 40 if segments > 1 else 2000))
        assert part.interpolation is not None
        assert worst(by_polynomials(part, t, part.interpolation[1]), sampled.at(0.5 * k + t).attitude) <= made.bound


def test_strong_bends_end_segments_and_weak_ones_do_not(plain: None, tmp_path: Path) -> None:
    pushes = [(float(k), (1e-7, 0.0, 1e-7 * (-1) ** k)) for k in range(1, 20)]
    pushes[9] = (10.0, (2.0, 0.0, 0.0))
    torque = ph.PiecewiseTorque(tuple(pushes))
    s = ph.simulate(ph.Body([1, 2, 2.8]), torque, omega=[0.1, 0.4, 0.2], t_span=(0, 19), method="RK4", step=0.05)
    s.to_aem(tmp_path / "a.aem", tolerance=1e-6, **ABOUT)
    h = ph.read_aem(tmp_path / "a.aem")
    starts = {float(h.t[k]) for k in h.segment_starts}
    assert {0.0, 9.0, 10.0} <= starts <= {0.0, 8.0, 9.0, 10.0, 11.0}  # and perhaps the neighbours


def test_rows_between_weak_bends_are_one_segment(sampled: Solution, tmp_path: Path) -> None:
    made = sampled.to_aem(tmp_path / "a.aem", tolerance=None, **ABOUT)
    assert (made.rows, made.segments) == (sampled.t.size, 1)
    assert made.bound is not None
    t = np.linspace(0.0, 50.0, 1777)
    h = ph.read_aem(tmp_path / "a.aem")
    assert worst(by_polynomials(h, t, 7), sampled.at(t).attitude) <= made.bound < 1e-4


def test_rows_as_they_are(plain: None, tmp_path: Path) -> None:
    torque = ph.PiecewiseTorque(((1.0, (0.5, 0.0, 0.0)),))
    s = ph.simulate(ph.Body([1, 2, 2.8]), torque, omega=[0.1, 0.4, 0.2], t_span=(2, 0), method="MR2", step=-0.125)
    made = s.to_aem(tmp_path / "a.aem", tolerance=None, **ABOUT)
    h = ph.read_aem(tmp_path / "a.aem")
    assert np.array_equal(h.t, s.t[::-1])
    assert (made.rows, made.segments) == (s.t.size + 1, 2)  # the row at the breakpoint stands in both
    assert made.measured is not None


# --- what is wrong -------------------------------------------------------------------------------------------------

GOOD = """CCSDS_AEM_VERS = 2.0
CREATION_DATE = 2026-01-01T00:00:00
ORIGINATOR = TEST
META_START
OBJECT_NAME = X
OBJECT_ID = 2026-001A
REF_FRAME_A = ICRF
REF_FRAME_B = SC_BODY_1
TIME_SYSTEM = UTC
START_TIME = 2026-01-01T00:00:00
STOP_TIME = 2026-01-01T00:00:02
ATTITUDE_TYPE = QUATERNION/ANGVEL
ANGVEL_FRAME = SC_BODY_1
META_STOP
DATA_START
2026-01-01T00:00:00 0 0 0 1 1 2 3
2026-01-01T00:00:01 0 0 0.6 0.8 1 2 3
2026-01-01T00:00:02 0 0 1 0 1 2 3
DATA_STOP
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("_VERS = 2.0", "_VERS = 3.0", 1, "version 3.0 of the AEM is not known: write the file as version 1.0 or 2.0"),
        ("CCSDS_AEM", "CCSDS_OEM", 1, "this is an OEM, not an attitude message"),
        ("CCSDS_AEM_VERS = 2.0\n", "", 1, "is not the beginning of a CCSDS message"),
        ("DATA_STOP\n", "", 18, "cut short, get the whole file"),
        ("0.8 1 2 3", "0.8 1 2", 17, "the row has 7 columns, not 8"),
        ("0.8 1 2 3\n2026-01-01T00:00:02 0 0 1 0 1 2 3\nDATA_STOP\n", "0.", 17, "cut short, get the whole file"),
        ("00:00:01 0", "00:00:00 0", 17, "repeats the time of the row before: sort the rows"),
        ("00:00:02 0", "00:00:00.5 0", 18, "is earlier than the row before: sort the rows"),
        ("0.6 0.8", "0.6 0.9", 17, "the quaternion has the length 1.08167, not 1"),
        ("0.6 0.8", "nan 0.8", 17, "'nan' in the column Q3 is not a finite number"),
        ("0.6 0.8", "1e400 0.8", 17, "'1e400' in the column Q3 is not a finite number"),
        ("ANGVEL_FRAME = SC_BODY_1", "ANGVEL_FRAME = SC_BODY_2", 13, "neither ICRF nor SC_BODY_1"),
        ("ANGVEL_FRAME = SC_BODY_1\n", "", 13, "ANGVEL_FRAME is missing in META, for QUATERNION/ANGVEL"),
        ("TIME_SYSTEM = UTC", "TIME_SYSTEM = MET", 9, "'MET' is not known: convert the times to one of UTC"),
        ("00:00:01 0", "00:00:61 0", 17, "is not a time"),
        ("OBJECT_ID = ", "OBJECT_ID ", 6, "is neither 'KEYWORD = value' nor a row of numbers"),
        ("META_STOP\n", "", 14, "META_STOP is missing before DATA_START: META began in line 4"),
    ],
)
def test_each_error_names_the_line(tmp_path: Path, old: str, new: str, line: int, why: str) -> None:
    assert old in GOOD
    path = tmp_path / "bad.aem"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(BadFile, match=f"bad.aem, line {line}: .*{re.escape(why)}"):
        ph.read_aem(path)


def test_other_encodings_and_kinds(tmp_path: Path) -> None:
    path = tmp_path / "a.aem"
    path.write_bytes(GOOD.replace("TEST", "Société").encode("latin-1"))
    with pytest.raises(BadFile, match="line 3: the byte 0xe9 is not UTF-8: save the file with that encoding"):
        ph.read_aem(path)
    path.write_text("")
    with pytest.raises(BadFile, match="is empty"):
        ph.read_aem(path)
    path.write_text(GOOD)
    with pytest.raises(BadFile, match=r"read it with polhode\.read_aem"):
        ph.read_apm(path)
    assert ph.read_aem(path).t.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="segment must be a number from 0 to 0, not 1"):
        ph.read_aem(path, segment=1)
    path.write_text(GOOD.replace("\n", "\r\n"))
    assert ph.read_aem(path).t.size == 3
    path.write_text('<?xml version="1.0"?>\n<!DOCTYPE aem [<!ENTITY a "b">]>\n<aem id="CCSDS_AEM_VERS" version="2.0"/>')
    with pytest.raises(BadFile, match="line 2: messages have no <!DOCTYPE>"):
        ph.read_aem(path)
    path.write_text('<?xml version="1.0"?>\n<aem id="CCSDS_AEM_VERS" version="2.0">\n<header>')
    with pytest.raises(BadFile, match="line 3: this is not well-formed XML"):
        ph.read_aem(path)


def test_mixed_frames_and_gaps(tmp_path: Path) -> None:
    path, segment = tmp_path / "a.aem", GOOD[GOOD.index("META_START") :]
    later = segment.replace("T00:00", "T00:10")
    path.write_text(GOOD + later)
    h = ph.read_aem(path)
    assert h.segment_starts == (0, 3)  # the gap is where a segment begins
    assert h.t.tolist() == [0.0, 1.0, 2.0, 600.0, 601.0, 602.0]
    path.write_text(GOOD + later.replace("SC_BODY_1", "SC_BODY_2"))
    with pytest.raises(BadFile, match=r"line 20: the segment has other frames than the first .*segment=0 to 1"):
        ph.read_aem(path)
    path.write_text(GOOD + segment)
    with pytest.raises(BadFile, match=r"line 20: the segment begins at .*, before the end of the one before"):
        ph.read_aem(path)


def test_what_cannot_be_written(tumbling: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.aem"
    wrong: dict[str, tuple[Any, str]] = {
        "epoch": (None, "needs the instant of t = 0"),
        "frames": (("ITRF2000", "SC_BODY_1"), "must be an inertial frame"),
        "tolerance": (1e-14, "an angle between 1e-12 and 1 rad"),
        "interpolation": ("HERMITE", "there is no interpolation 'HERMITE'"),
        "object_name": ("two\nlines", "object_name must be a text"),
        "time_system": ("MET", "'MET' is not known"),
    }
    for name, (value, why) in wrong.items():
        with pytest.raises(ValueError, match=why):
            tumbling.to_aem(target, **(ABOUT | {name: value}))
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        tumbling.to_aem(tmp_path / "nowhere" / "a.aem", **ABOUT)
    tumbling.to_aem(target, **ABOUT)
    whole = target.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        tumbling.to_aem(target, **ABOUT)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device; nothing was left behind"):
        tumbling.to_aem(target, overwrite=True, **ABOUT)
    assert target.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["a.aem"]


def test_epochs_are_stored(plain: None, tumbling: Solution, tmp_path: Path) -> None:
    s = tumbling.with_epoch("2026-031T12:00:00.25", "TDB")
    assert tumbling.epoch is None
    s.save(tmp_path / "a.nc")
    again = ph.load(tmp_path / "a.nc")
    assert (str(again.epoch), again.epoch.system if again.epoch else "") == ("2026-01-31T12:00:00.25", "TDB")
    again.to_aem(tmp_path / "a.aem", object_name="X", object_id="Y")
    assert ph.read_aem(tmp_path / "a.aem").epoch == s.epoch


def test_the_command(tumbling: Solution, call: Callable[..., tuple[int, str, str]], here: Path) -> None:
    tumbling.save("run.nc")
    about = ("--object-name", "X", "--object-id", "2026-001A")
    code, out, err = call("export", "run.nc", "run.aem", *about, "--epoch", "2026-01-01T00:00:00", "--tolerance", 1e-5)
    assert (code, err) == (0, "")
    assert re.fullmatch(r"\d+ rows in 1 segment written to run.aem; error of interpolation at most \S+ rad\n", out)
    assert ph.read_aem("run.aem").t[-1] == 30.0
    assert call("export", "run.nc", "run.aem", *about)[0] == 2  # it is there already
    assert "needs the instant of t = 0" in call("export", "run.nc", "other.aem", *about)[2]
    assert "does not end in .aem, .acm, .apm or .bc" in call("export", "run.nc", "run.txt", *about)[2]
    assert "give --object-name and --object-id" in call("export", "run.nc", "other.aem")[2]
    assert call("export", "run.nc", "run.acm", *about, "--epoch", "2026-01-01T00:00:00", "--tolerance", 1e-5)[0] == 0
    assert np.array_equal(ph.read_aem("run.acm").t, ph.read_aem("run.aem").t)
    code, out, _ = call("export", "run.nc", "run.apm", *about, "--epoch", "2026-01-01T00:00:00", "--at", 10)
    assert (code, out) == (0, "the state at t = 10 s written to run.apm\n")
    assert str(ph.read_apm("run.apm").epoch) == "2026-01-01T00:00:10"


@pytest.mark.evidence
def test_a_million_rows(tmp_path: Path) -> None:
    s = ph.simulate(
        ph.Body([1.0, 2.0, 2.8]),
        omega=[0.1, 1.0, 0.2],
        t_span=(0, 1e5),
        t_eval=np.linspace(0, 1e5, 1_000_001),
        rtol=1e-9,
    )
    s.to_aem(tmp_path / "a.aem", tolerance=None, **ABOUT)
    h = ph.read_aem(tmp_path / "a.aem")
    np.testing.assert_allclose(h.t, s.t, rtol=0, atol=5e-13)  # picoseconds
    assert (np.abs(np.sum(h.quaternion * s.quaternion, axis=1)) > 1 - 1e-15).all()


def test_scenarios_have_epochs(call: Callable[..., tuple[int, str, str]], here: Path) -> None:
    text = """time_system = "TAI"
epoch = "2026-01-01T00:00:00"
[body]
moments = [1.0, 2.0, 2.8]
[initial]
omega = [0.1, 1.0, 0.2]
[run]
t_span = [0.0, 1.0]
rtol = 1e-9
"""
    Path("a.toml").write_text(text)
    assert call("run", "a.toml", "--quiet")[0] == 0
    epoch = ph.load("a.nc").epoch
    assert epoch is not None
    assert (str(epoch), epoch.system) == ("2026-01-01T00:00:00", "TAI")
    Path("b.toml").write_text(text.replace("-01-01T", "-13-01T"))
    assert re.search("b.toml: .*epoch.*there is no such day", call("run", "b.toml")[2])
