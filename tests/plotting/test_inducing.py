import numpy as np
import pytest

from gpflow_gi import plotting


def test_a_point_is_a_line_through_the_levels(ax, rng):
    bottom, top = rng.normal(size=(5, 1)), rng.normal(size=(3, 5, 1))
    assert plotting.inducing_points([bottom, top], ax) is ax
    lines = ax.lines
    assert len(lines) == 5 * 3
    drawn = np.array([line.get_ydata() for line in lines]).reshape(5, 3, 2)
    np.testing.assert_array_equal(drawn[:, :, 0], np.repeat(bottom, 3, axis=1))
    np.testing.assert_array_equal(drawn[:, :, 1], top[..., 0].T)  # even if it falls where X rises
    colours = [line.get_color() for line in lines]
    assert len({tuple(colour) for colour in colours}) == 5
    brightness = np.array([np.sum(colours[3 * m][:3]) for m in range(5)])
    assert list(np.argsort(brightness)) == list(np.argsort(bottom[:, 0]))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["Inputs", "Layer 1"]


@pytest.mark.parametrize("sign", [-1, 1])
def test_several_columns_are_shown_by_their_first_component(ax, rng, sign):
    bottom = np.linspace(-1, 1, 6)[:, None]
    direction = np.array([[3.0, 0.0, 4.0]]) / 5
    level = sign * 2.0 * bottom * direction + 1.0
    plotting.inducing_points([bottom, level], ax)
    drawn = np.array([line.get_ydata()[1] for line in ax.lines])
    np.testing.assert_allclose(drawn, 2 * bottom[:, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([np.zeros((3, 1))], "two levels or more, but hold 1"),
        ([np.zeros((3, 1)), np.zeros((4, 1))], r"\[3, 1\], \[4, 1\]"),
        ([np.zeros((3, 1)), np.zeros(3)], r"but has shape \[3\]"),
        ([np.zeros((3, 1)), np.zeros((2, 0, 1))], r"but has shape \[2, 0, 1\]"),
    ],
)
def test_levels_that_do_not_fit_are_refused(ax, levels, message):
    with pytest.raises(ValueError, match=message):
        plotting.inducing_points(levels, ax)
