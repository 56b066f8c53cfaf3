"""Parts of an experiment, and the time left for the others."""

from gpflow_gi.experiments.parts import Parts


def said(times, total, **options):
    lines, clock = [], iter(times)
    parts = Parts(lines.append, total, clock=lambda: next(clock), **options)
    for name in "abc"[:total]:
        parts(name)
    return lines


def test_parts_that_begin():
    """After one part of 10 s two are left; after two of 10 and 50 s one, of their mean."""
    assert said([0.0, 0.0, 10.0, 60.0], 3) == [
        "a (1 of 3)",
        "b (2 of 3, about 20 s left)",
        "c (3 of 3, about 30 s left)",
    ]


def test_parts_that_end():
    assert said([5.0, 15.0, 185.0, 200.0], 3, after=True) == [
        "a (1 of 3, about 20 s left)",
        "b (2 of 3, about 90 s left)",
        "c (3 of 3)",
    ]


def test_a_first_part_that_is_unlike_the_others():
    assert said([0.0, 0.0, 1000.0, 1010.0], 3, apart=1) == [
        "a (1 of 3)",
        "b (2 of 3)",
        "c (3 of 3, about 10 s left)",
    ]
