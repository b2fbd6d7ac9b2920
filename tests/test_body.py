"""Bodies: what is accepted, what is refused and why, and principal axes."""

import copy
import pickle
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.body import NAMED


def test_moments_keep_their_order() -> None:
    body = ph.Body([5, 4, 3])
    assert body.moments.tolist() == [5, 4, 3]
    assert body.aligned


def test_diagonal_tensor_keeps_its_order() -> None:
    body = ph.Body(np.diag([5.0, 3.0, 4.0]))
    assert body.moments.tolist() == [5, 3, 4]
    assert body.aligned


rates = st.tuples(*[st.floats(-1e6, 1e6)] * 3)
TILTED = [[2.0, 0.1, 0.2], [0.1, 1.5, 0.05], [0.2, 0.05, 1.0]]


@given(rates, st.sampled_from([[1.0, 1.7, 2.4], TILTED]), st.sampled_from([None, [0.1, -0.2, 0.3]]))
def test_a_single_momentum_has_the_bits_of_many(omega: Any, inertia: Any, rotor: Any) -> None:
    body = ph.Body(inertia, rotor=rotor)
    assert np.array(body.momentum_of_one(omega)).tobytes() == body.momentum(np.array(omega)).tobytes()
    assert np.array(body.momentum_of_one(omega)).tobytes() == body.momentum(np.array([omega] * 5))[2].tobytes()


rotations = st.tuples(*[st.floats(-3, 3)] * 3).map(Rotation.from_rotvec)


def test_a_row_has_the_bits_of_many() -> None:
    """Of tilted bodies too: a stepper, one listed time and all steps agree in every momentum and rate."""
    start: dict[str, Any] = {"omega": [0.3, -1.2, 0.7], "step": 0.1, "method": "MR2"}
    for turn in Rotation.random(12, rng=np.random.default_rng(1)).as_matrix():
        tensor = turn @ np.diag([1.0, 1.7, 2.3]) @ turn.T
        body, top = ph.Body((tensor + tensor.T) / 2), ph.HeavyTop(0.3)
        whole = ph.simulate(body, top, t_span=(0, 1), **start)
        last = ph.simulate(body, top, t_span=(0, 1), t_eval=[1.0], **start)
        stepper = ph.Stepper(body, top, **start)
        stepper.step(10)
        for one in (last.momentum[-1], stepper.momentum):
            assert one.tobytes() == whole.momentum[-1].tobytes()
        for one in (last.omega[-1], stepper.omega):
            assert one.tobytes() == whole.omega[-1].tobytes()


@pytest.mark.parametrize(
    "moments", [(2.0, 3.0, 4.0), (0.03, 0.27, 0.28), (1e-9, 1.0, 1.3), (1.0, 1.0 + 1e-13, 1.7), (3e150, 4e150, 5e150)]
)
def test_principal_axes_to_the_last_digit(moments: tuple[float, float, float]) -> None:
    """What `eigh` leaves, some ulps of the greatest moment, is what motions near the separatrix make grow."""
    for turn in Rotation.random(10, rng=np.random.default_rng(3)).as_matrix():
        tensor = turn @ np.diag(moments) @ turn.T
        tensor = (tensor + tensor.T) / 2
        body = ph.Body(tensor, allow_unphysical=True)
        with mp.workdps(60):
            known = mp.eigsy(mp.matrix(tensor.tolist()), eigvals_only=True)
            assert max(abs(m / k - 1) for m, k in zip(body.moments.tolist(), known, strict=True)) < 1.2e-16
            axes = mp.matrix(body.axes.tolist())
            left = axes * mp.diag(known) * axes.T - mp.matrix(tensor.tolist())
            assert mp.norm(left, mp.inf) < 5e-16 * max(known)
            assert mp.norm(axes.T * axes - mp.eye(3), mp.inf) < 4e-16
        assert np.linalg.det(body.axes) > 0.0


@given(rotations)
def test_full_tensor_is_diagonalised(turn: Rotation) -> None:
    r = turn.as_matrix()
    tensor = r @ np.diag([2.0, 3.0, 4.0]) @ r.T
    body = ph.Body((tensor + tensor.T) / 2)
    assert np.linalg.det(body.axes) == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(body.axes @ np.diag(body.moments) @ body.axes.T, tensor, atol=1e-14)
    np.testing.assert_allclose(np.sort(body.moments), [2, 3, 4], rtol=1e-14)
    w = np.array([0.3, -1.2, 0.7])
    np.testing.assert_allclose(body.momentum(w), tensor @ w, atol=1e-14)
    np.testing.assert_allclose(body.rate(body.momentum(w)), w, atol=1e-14)


def test_tiny_asymmetry_is_round_off() -> None:
    tensor = np.array([[2.0, 0.1, 0.0], [0.1 + 1e-14, 3.0, 0.2], [0.0, 0.2, 4.0]])
    body = ph.Body(tensor)
    assert (body.tensor == body.tensor.T).all()


def test_flat_bodies_are_accepted() -> None:
    assert ph.Body([1000, 5000, 6000]).physical
    assert ph.Body([0.1, 0.2, 0.1 + 0.2]).physical  # equality up to the last bit


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_any_scale(scale: float) -> None:
    assert ph.Body([2 * scale, 3 * scale, 4 * scale]).physical
    with pytest.raises(ValueError, match="exceeds the sum"):
        ph.Body([scale, scale, 2.01 * scale])


def test_unphysical_needs_a_word() -> None:
    with pytest.raises(ValueError, match=r"0\.345, 0\.653, 1.*set allow_unphysical: an argument of Body"):
        ph.Body([0.345, 0.653, 1.0])
    assert not ph.Body([0.345, 0.653, 1.0], allow_unphysical=True).physical


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        ([1, 2, -3], "positive, not 1, 2, -3"),
        ([1, 0, 1], "positive, not 1, 0, 1"),
        ([1, float("nan"), 1], r"inertia\[1\] is nan"),
        ([1, 2, float("inf")], r"inertia\[2\] is inf"),
        ([1, 2], r"three moments or a 3x3 tensor, not of shape \(2,\)"),
        ([[1, 2, 3]] * 2, "three moments or a 3x3 tensor"),
        (["a", "b", "c"], "must hold numbers"),
        ("water", r"write Body\.named\('water'\)"),
        ([1, [2, 3], 4], "inertia must hold rows of one length"),
        (np.array([1, 2, 2j]), "must hold numbers"),
        ([1e-310, 1e-310, 1e-310], "near the ends of the range of floats"),
        ([1e308, 1e308, 1e308], "near the ends of the range of floats"),
        ([[1, 0.5, 0], [0.4, 2, 0], [0, 0, 2]], r"inertia\[0, 1\] = 0.5 and inertia\[1, 0\] = 0.4"),
        ([[1, 2, 0], [2, 1, 0], [0, 0, 2]], "positive"),
        ([[1, float("nan"), 0], [0, 1, 0], [0, 0, 1]], "finite"),
    ],
)
def test_bad_inertia(inertia: object, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ph.Body(inertia)


@pytest.mark.parametrize("name", NAMED)
def test_named_bodies(name: str) -> None:
    body = ph.Body.named(name.upper())
    assert body.name == name
    assert tuple(body.moments) == NAMED[name].moments
    assert ("unphysical" in NAMED[name].note) == (not body.physical)
    assert ("flat" in NAMED[name].note) == (2 * max(body.moments) == sum(body.moments))


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="no body 'watr': did you mean 'water'"):
        ph.Body.named("watr")


def test_bodies_are_values() -> None:
    assert ph.Body([1, 2, 2]) == ph.Body(np.diag([1.0, 2.0, 2.0]))
    assert len({ph.Body([1, 2, 2]), ph.Body([1, 2, 2])}) == 1
    with pytest.raises(ValueError, match="read-only"):
        ph.Body([1, 2, 2]).moments[0] = 3
    assert (
        repr(ph.Body([0.345, 0.653, 1.0], allow_unphysical=True)) == "Body([0.345, 0.653, 1.0], allow_unphysical=True)"
    )


@pytest.mark.parametrize("other", [lambda b: pickle.loads(pickle.dumps(b)), copy.deepcopy, copy.copy])
def test_copies_cannot_be_written_to(other: Any) -> None:
    """A body is a key of caches: whatever way it came, its numbers stay as they are."""
    for body in (ph.Body([1.0, 1.2, 1.5]), ph.Body([[2.0, 0.3, 0.0], [0.3, 3.0, 0.1], [0.0, 0.1, 4.0]])):
        _ = body.axes_quaternion
        again = other(body)
        assert again == body
        for values in (again.tensor, again.moments, again.axes, again.axes_quaternion):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 5.0


@pytest.mark.parametrize(
    "inertia",
    [
        ["1", "1.2", "1.5"],
        [True, 1.2, 1.5],
        [1.0, 1.2, 1.5 + 0j],
        np.array([1, 1, 1], "m8[s]"),
        [1.0, None, 1.5],
        [10**400, 1, 1],
    ],
)
def test_what_is_no_number_is_no_moment(inertia: Any) -> None:
    with pytest.raises(TypeError, match="inertia must hold numbers"):
        ph.Body(inertia)


def test_masked_moments_are_refused() -> None:
    masked = np.ma.array([1.0, 1.2, 1.5], mask=[False, True, False])
    with pytest.raises(ValueError, match="inertia has 1 masked entries"):
        ph.Body(masked)
    assert ph.Body(np.ma.array([1.0, 1.2, 1.5])) == ph.Body([1.0, 1.2, 1.5])


# --- gyrostats


TILTED = [[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]]
ROTOR = [0.1, -0.3, 0.2]


@pytest.mark.parametrize("inertia", [[2.0, 3.0, 4.0], TILTED])
def test_the_rotor_adds_to_the_momentum(inertia: Any) -> None:
    body, bare = ph.Body(inertia, rotor=ROTOR), ph.Body(inertia)
    w = np.array([[0.3, -1.2, 0.7], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(body.momentum(w), w @ body.tensor + ROTOR, atol=1e-15)
    np.testing.assert_allclose(body.rate(body.momentum(w)), w, atol=1e-15)
    np.testing.assert_allclose(body.axes @ body.principal_rotor, ROTOR, atol=1e-16)
    assert body.has_rotor
    assert not bare.has_rotor
    assert bare.rotor.tolist() == [0, 0, 0]


def test_gyrostats_are_compared_copied_and_written() -> None:
    body = ph.Body(TILTED, rotor=ROTOR, name="wheel")
    assert body == ph.Body(TILTED, rotor=np.array(ROTOR))
    assert hash(body) == hash(ph.Body(TILTED, rotor=tuple(ROTOR)))
    assert body != ph.Body(TILTED)
    assert body != ph.Body(TILTED, rotor=[0.1, -0.3, 0.3])
    assert ph.Body(TILTED, rotor=[0, 0, -0.0]) == ph.Body(TILTED)
    assert hash(ph.Body(TILTED, rotor=[0, 0, -0.0])) == hash(ph.Body(TILTED))
    assert eval(repr(body), {"Body": ph.Body}) == body
    assert repr(ph.Body([2.0, 3.0, 4.0], rotor=ROTOR)) == "Body([2.0, 3.0, 4.0], rotor=[0.1, -0.3, 0.2])"
    for other in (copy.deepcopy(body), pickle.loads(pickle.dumps(body))):
        assert other == body
        with pytest.raises(ValueError, match="read-only"):
            other.rotor[0] = 1.0
    old = {k: v for k, v in vars(ph.Body(TILTED)).items() if k != "rotor"}  # as a version before rotors pickled it
    restored = ph.Body.__new__(ph.Body)
    restored.__setstate__(old)
    assert restored == ph.Body(TILTED)


@pytest.mark.parametrize(
    ("rotor", "message"),
    [
        ([0.1, 0.2], r"rotor must have the shape \(3,\), not \(2,\)"),
        (0.3, r"rotor must have the shape \(3,\)"),
        ([0.1, float("nan"), 0.2], r"rotor must be finite, but rotor\[1\] is nan"),
        ([float("inf"), 0.0, 0.2], r"rotor must be finite, but rotor\[0\] is inf"),
        (["a", 0, 0], "rotor must hold numbers"),
        ("x", "rotor must hold numbers"),
        ([1e305, 0, 0], "near the end of the range of floats: use other units"),
    ],
)
def test_bad_rotors(rotor: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ph.Body([2.0, 3.0, 4.0], rotor=rotor)
