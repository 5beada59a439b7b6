"""Curves as one SVG: what an operation costs over how many there are, with the rise that n log n would have."""

import math
from collections.abc import Sequence
from html import escape

from benchmarks.figures import Curve
from benchmarks.table import number

_WIDTH, _HEIGHT, _COLUMNS = 380, 230, 2
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 16, 34, 40
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.name{font-weight:bold}.axis{stroke:#999}.cost{stroke:#1f5fa8;fill:none;"
    "stroke-width:2}.dot{fill:#1f5fa8}.rise{stroke:#c0504d;fill:none;stroke-dasharray:5 4}"
)


def drawn(curves: Sequence[Curve]) -> str:
    """The picture: a panel for each curve."""
    rows = math.ceil(len(curves) / _COLUMNS)
    width, height = _WIDTH * _COLUMNS, _HEIGHT * rows
    panels = [
        f'<g transform="translate({place % _COLUMNS * _WIDTH},{place // _COLUMNS * _HEIGHT})">{_panel(curve)}</g>'
        for place, curve in enumerate(curves)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
            f'<style>{_STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>',
            *panels,
            "</svg>\n",
        ]
    )


def _panel(curve: Curve) -> str:
    """Numbers on a logarithmic scale, costs on a plain one from 0; dashed what log n would make of the first cost."""
    fewest, cheapest = curve.points[0]
    most, dearest = curve.points[-1]
    rise = [(things, cheapest * math.log(things) / math.log(fewest)) for things, _ in curve.points]
    top = max(cost for _, cost in (*curve.points, *rise)) * 1.1

    def x(things: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(things / fewest) / math.log(most / fewest)

    def y(cost: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * cost / top

    def line(points: Sequence[tuple[float, float]], kind: str) -> str:
        return f'<polyline class="{kind}" points="{" ".join(f"{x(n):.1f},{y(cost):.1f}" for n, cost in points)}"/>'

    floor, last = y(0), _WIDTH - _RIGHT
    return "".join(
        [
            f'<text class="name" x="{_LEFT}" y="18">{escape(curve.name)}</text>',
            f'<path class="axis" fill="none" d="M{_LEFT},{_TOP}V{floor:.1f}H{last}"/>',
            f'<text x="4" y="{_TOP + 4}">{escape(curve.unit)}</text>',
            *(
                f'<text x="{_LEFT - 6}" y="{y(cost) + 4:.1f}" text-anchor="end">{number(cost)}</text>'
                for cost in (0, cheapest)
            ),
            f'<text x="{last}" y="{y(dearest) - 8:.1f}" text-anchor="end">{number(dearest)}</text>',
            *(
                f'<text x="{x(things):.1f}" y="{floor + 16:.1f}" text-anchor="middle">{_short(things)}</text>'
                for things, _ in curve.points
            ),
            f'<text x="{_WIDTH / 2}" y="{floor + 33:.1f}" text-anchor="middle">{escape(curve.things)}</text>',
            line(rise, "rise"),
            line(curve.points, "cost"),
            *(f'<circle class="dot" cx="{x(n):.1f}" cy="{y(cost):.1f}" r="3"/>' for n, cost in curve.points),
        ]
    )


def _short(things: float) -> str:
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if things >= size:
            return f"{things / size:g}{sign}"
    return f"{things:g}"
