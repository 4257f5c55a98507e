"""The graph of the packages in docs/architecture.md, drawn as SVG.

Code sites draw its Mermaid text by themselves. Here it is drawn without any script: nodes in
layers, each above all that it imports, and ordered so that few arrows cross. An arrow over several
layers has a place of its own in each, so that it does not run through other nodes.
"""

from __future__ import annotations

import itertools
import re

FENCE = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EDGE = re.compile(r"(\w+) --> (\w+)")
WIDTH, HEIGHT = 104, 28  # of a node
NARROW = 26  # what an arrow takes in a layer that it passes
GAP, DOWN = 12, 62  # between nodes; from layer to layer
SWEEPS = 40

Edge = tuple[str, str]
Place = tuple[float, float]


def drawn(markdown: str) -> str:
    """The Markdown with each Mermaid graph as a picture."""
    return FENCE.sub(lambda match: picture(EDGE.findall(match[1])), markdown)


def picture(edges: list[Edge]) -> str:
    """The SVG of a graph without cycles; it takes the page's colours."""
    layers = layered(edges)
    routes = routed(layers, edges)
    places = _places(ordered(layers, routes))
    shapes = [_arrow([places[stop] for stop in route]) for route in routes]
    shapes += [_node(name, *place) for name, place in places.items() if name.isidentifier()]
    right = max(x for x, _ in places.values()) + WIDTH / 2 + 2
    height = len(layers) * DOWN - DOWN + HEIGHT + 4
    return (
        f'<svg class="packages" viewBox="0 0 {right:.0f} {height}" role="img" '
        f'aria-label="Which package imports which"><defs><marker id="tip" viewBox="0 0 8 8" '
        f'refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z"/></marker></defs>{"".join(shapes)}</svg>'
    )


def layered(edges: list[Edge]) -> list[list[str]]:
    """Nodes by the longest way down from them: what imports nothing is in the last layer."""
    below: dict[str, list[str]] = {name: [] for edge in edges for name in edge}
    for a, b in edges:
        below[a].append(b)
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((deep(other) for other in below[name]), default=-1)
        return depth[name]

    deepest = max(deep(name) for name in below)
    return [sorted(n for n in below if depth[n] == level) for level in range(deepest, -1, -1)]


def routed(layers: list[list[str]], edges: list[Edge]) -> list[list[str]]:
    """The stops of each arrow; those between its ends are added to the layers it passes."""
    level = {name: i for i, layer in enumerate(layers) for name in layer}
    routes = []
    for a, b in edges:
        stops = [f"{a} {b} {i}" for i in range(level[a] + 1, level[b])]
        for i, stop in enumerate(stops, level[a] + 1):
            layers[i].append(stop)
        routes.append([a, *stops, b])
    return routes


def ordered(layers: list[list[str]], routes: list[list[str]]) -> list[list[str]]:
    """Each layer sorted by where its neighbours stand, down and up again (barycentres)."""
    near: dict[str, list[str]] = {name: [] for layer in layers for name in layer}
    for a, b in itertools.chain.from_iterable(map(itertools.pairwise, routes)):
        near[a].append(b)
        near[b].append(a)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            places = _places(layers)
            middle = {n: sum(places[m][0] for m in near[n]) / len(near[n]) for n in layer}
            layer.sort(key=middle.__getitem__)
    return layers


def _places(layers: list[list[str]]) -> dict[str, Place]:
    """The middle of each stop; layers are centred."""
    widths = [[WIDTH if name.isidentifier() else NARROW for name in layer] for layer in layers]
    totals = [sum(each) + GAP * (len(each) - 1) for each in widths]
    places = {}
    for level, (layer, each, total) in enumerate(zip(layers, widths, totals, strict=True)):
        left = (max(totals) - total) / 2 + 2
        for name, width in zip(layer, each, strict=True):
            places[name] = (left + width / 2, level * DOWN + HEIGHT / 2 + 2)
            left += width + GAP
    return places


def _node(name: str, x: float, y: float) -> str:
    return (
        f'<rect x="{x - WIDTH / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="6"/><text x="{x:.1f}" y="{y + 4:.1f}">{name}</text>'
    )


def _arrow(stops: list[Place]) -> str:
    """A curve through the stops, upright at each."""
    ends = [(x, y + HEIGHT / 2) for x, y in stops[:1]]
    ends += stops[1:-1]
    ends += [(x, y - HEIGHT / 2) for x, y in stops[-1:]]
    path = f"M{ends[0][0]:.1f} {ends[0][1]:.1f}"
    for (x1, y1), (x2, y2) in itertools.pairwise(ends):
        bend = (y2 - y1) / 2
        path += f"C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    return f'<path class="arrow" marker-end="url(#tip)" d="{path}"/>'
