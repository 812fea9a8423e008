"""Shapes of inputs from example tensors (feed_dict), for one size of a model or several (multi_shape)."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .errors import ArgumentError

Shape = Tuple[int, ...]


def shapes_of(feed_dict: Optional[Mapping[str, Any]]) -> Dict[str, Shape]:
    """The shape of each example tensor."""
    shapes: Dict[str, Shape] = {}
    for name, value in (feed_dict or {}).items():
        shape = getattr(value, "shape", None)
        if shape is None:
            raise ArgumentError(f"feed_dict['{name}']: expected an array, got {type(value).__name__}")
        shapes[str(name)] = tuple(int(size) for size in shape)
    return shapes


def shape_flags(sizes: Sequence[Mapping[str, Shape]]) -> List[str]:
    """The shapes of one size of the model or of several, as the compiler's flag takes them:
    NAME:1x3x224x224,1x3x448x448. Scalars are left out."""
    if not sizes:
        return []
    return [f"{name}:{','.join('x'.join(map(str, size[name])) for size in sizes)}"
            for name, shape in sizes[0].items() if shape]


def _row(name: str, spec: Any) -> Tuple[Tuple[int, ...], List[Tuple[int, ...]]]:
    """The axes of one input and its sizes, one tuple a size."""
    where = f"multi_shape['{name}']"
    if not isinstance(spec, Mapping) or set(spec) != {"axis", "values"}:
        raise ArgumentError(f'{where}: expected {{"axis": ..., "values": [...]}}')
    axis, values = spec["axis"], spec["values"]
    if isinstance(axis, int):
        axes: Tuple[int, ...] = (axis,)
        rows: List[Tuple[int, ...]] = [(value,) for value in values]
    else:
        axes = tuple(axis)
        rows = [tuple(value) if isinstance(value, Sequence) else (value,) for value in values]
    for row in rows:
        good = all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in row)
        if len(row) != len(axes) or not good:
            raise ArgumentError(f"{where}: {row} does not give {len(axes)} sizes for the axes {axes}")
    if not rows:
        raise ArgumentError(f"{where}: values is empty")
    return axes, rows


def sizes_of(multi_shape: Mapping[str, Any], feed_dict: Optional[Mapping[str, Any]],
             dynamic_axes: Optional[object]) -> List[Dict[str, Shape]]:
    """The shapes of all inputs for each size of the model, in the order of the values.
    Errors: ArgumentError."""
    if not feed_dict:
        raise ArgumentError("multi_shape needs feed_dict, which gives the other sizes of the inputs")
    if dynamic_axes is not None:
        raise ArgumentError("multi_shape cannot be combined with dynamic_axes")
    base = shapes_of(feed_dict)
    rows: Dict[str, Tuple[Tuple[int, ...], List[Tuple[int, ...]]]] = {}
    for name, spec in multi_shape.items():
        if name not in base:
            raise ArgumentError(f"multi_shape['{name}']: feed_dict has no such input; it has "
                                f"{', '.join(base)}")
        axes, values = _row(name, spec)
        for axis in axes:
            if not -len(base[name]) <= axis < len(base[name]):
                raise ArgumentError(f"multi_shape['{name}']: the input has {len(base[name])} axes, "
                                    f"axis {axis} is none of them")
        rows[name] = (axes, values)
    counts = {name: len(values) for name, (_, values) in rows.items()}
    if len(set(counts.values())) != 1:
        raise ArgumentError(f"multi_shape: the inputs have different numbers of sizes: {counts}")
    sizes = []
    for index in range(next(iter(counts.values()))):
        shapes = dict(base)
        for name, (axes, values) in rows.items():
            shape = list(base[name])
            for axis, size in zip(axes, values[index]):
                shape[axis] = size
            shapes[name] = tuple(shape)
        sizes.append(shapes)
    return sizes


def dynamic_axes_of(multi_shape: Mapping[str, Any]) -> Dict[str, Dict[int, str]]:
    """The axes that must stay open when a torch module is exported for several sizes."""
    open_axes: Dict[str, Dict[int, str]] = {}
    for number, (name, spec) in enumerate(multi_shape.items()):
        axes, _ = _row(name, spec)
        open_axes[name] = {axis: f"size_{number}_{axis}" for axis in axes}
    return open_axes
