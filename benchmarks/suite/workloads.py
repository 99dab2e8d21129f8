"""A case in the process of a contender that is not tdsl.

Functions are found by name in `peers/FAMILY.py`, see there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ..worker import Workload
from . import inputs

Arguments = dict[str, Any]


def given(arguments: Arguments) -> list[Any]:
    """Return the arguments of a call: the kernel's inputs, then its free dims."""
    return [*inputs.make(arguments["specs"]), *arguments["free"].values()]


def peers(arguments: Arguments) -> ModuleType:
    """Return the module that states the case for other libraries."""
    return import_module(f"benchmarks.suite.peers.{arguments['family']}")


def repeated(
    call: Callable[..., Any],
    values: Sequence[Any],
    show: Callable[[Any], Any] = np.asarray,
) -> Workload:
    """Time *call* on the same arguments; its result is that on fresh ones."""
    fresh = copy.deepcopy(list(values))

    def result() -> np.ndarray:
        return np.asarray(show(call(*copy.deepcopy(fresh))))

    return Workload(lambda: call(*values), result)


def numpy_workload(arguments: Arguments) -> Workload:
    """Run the case as a NumPy user writes it."""
    module, kernel = peers(arguments), arguments["kernel"]
    function = getattr(module, f"numpy_{kernel}", None) or getattr(module, kernel)
    return repeated(lambda *values: function(np, *values), given(arguments))


def torch_workload(arguments: Arguments) -> Workload:
    """Run the case in torch, one call at a time."""
    function, values, show = _torch_case(arguments)
    return repeated(function, values, show)


def torch_compile_workload(arguments: Arguments) -> Workload:
    """Run the case through torch.compile, for these sizes."""
    import torch

    function, values, show = _torch_case(arguments)
    compiled = torch.compile(function, dynamic=False)
    return repeated(compiled, values, show)


def _torch_case(
    arguments: Arguments,
) -> tuple[Callable[..., Any], list[Any], Callable[[Any], Any]]:
    """Return torch's function, its tensors, and how its result becomes an array."""
    import torch

    torch.set_num_threads(arguments["threads"])
    torch.set_grad_enabled(False)
    module, name = peers(arguments), f"{arguments['way']}_{arguments['kernel']}"
    stated = getattr(module, name)
    values = given(arguments)
    tensors = [_tensor(torch, value) for value in values if np.ndim(value)]
    numbers = [value for value in values if not np.ndim(value)]
    if prepare := getattr(module, f"prepare_{name}", None):
        tensors = list(prepare(torch, *tensors))
    finish = getattr(module, f"finish_{name}", lambda torch, result: result)

    def run(*tensors: Any) -> Any:
        return stated(torch, *tensors, *numbers)

    def show(result: Any) -> np.ndarray:
        shown = finish(torch, result)
        wide = shown.float() if shown.dtype == torch.bfloat16 else shown
        return np.asarray(wide.numpy())

    return run, tensors, show


def _tensor(torch: Any, array: np.ndarray) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def jax_workload(arguments: Arguments) -> Workload:
    """Run the case through jax.jit, waiting for the result."""
    import jax

    jax.config.update("jax_enable_x64", True)
    module, kernel = peers(arguments), arguments["kernel"]
    function = getattr(module, f"jax_{kernel}", None) or getattr(module, kernel)
    compiled = jax.jit(lambda *values: function(jax.numpy, *values))
    values = [
        jax.numpy.asarray(value) if isinstance(value, np.ndarray) else np.float32(value)
        for value in given(arguments)
    ]
    return repeated(lambda *each: compiled(*each).block_until_ready(), values)


def numexpr_workload(arguments: Arguments) -> Workload:
    """Evaluate the case's expression into an existing array."""
    import numexpr

    numexpr.set_num_threads(arguments["threads"])
    expression = getattr(peers(arguments), f"numexpr_{arguments['kernel']}")
    names = dict(zip(arguments["names"], given(arguments), strict=True))
    values = {
        name: np.float32(value) if isinstance(value, float) else value
        for name, value in names.items()
    }
    output = numexpr.evaluate(expression, values)
    return Workload(
        lambda: numexpr.evaluate(expression, values, out=output), lambda: output
    )


def numba_workload(arguments: Arguments) -> Workload:
    """Run plain loops that Numba compiles."""
    import numba

    numba.set_num_threads(arguments["threads"])
    make = getattr(peers(arguments), f"numba_{arguments['kernel']}")
    return repeated(make(numba), given(arguments))


def onnxruntime_workload(arguments: Arguments) -> Workload:
    """Run torch's statement of the case as an ONNX model, with all optimisations."""
    import onnxruntime

    function, tensors, show = _torch_case(arguments)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = arguments["threads"]
    session = onnxruntime.InferenceSession(
        _onnx_model(function, tensors), settings, providers=["CPUExecutionProvider"]
    )
    names = [entry.name for entry in session.get_inputs()]
    feeds = {n: tensor.numpy() for n, tensor in zip(names, tensors, strict=True)}

    def result() -> np.ndarray:
        import torch

        return show(torch.from_numpy(session.run(None, feeds)[0]))

    return Workload(lambda: session.run(None, feeds), result)


def _onnx_model(function: Callable[..., Any], tensors: list[Any]) -> bytes:
    """Return *function* of *tensors* as an ONNX model."""
    import io

    import torch

    class Stated(torch.nn.Module):
        def forward(self, *tensors: Any) -> Any:
            return function(*tensors)

    file = io.BytesIO()
    torch.onnx.export(Stated(), tuple(tensors), file)
    return file.getvalue()
