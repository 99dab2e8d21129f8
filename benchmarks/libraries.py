"""What the libraries do; nothing of tdsl is loaded in their processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import normal_arrays
from .worker import Workload


def numpy_matmul(arguments: dict[str, Any]) -> Workload:
    """Multiply with NumPy into an existing array."""
    a, b = normal_arrays(arguments["shapes"])
    c = np.empty((a.shape[0], b.shape[1]), np.float32)
    return Workload(lambda: np.matmul(a, b, out=c), lambda: c)


def torch_matmul(arguments: dict[str, Any]) -> Workload:
    """Multiply with torch into an existing tensor."""
    import torch

    torch.set_num_threads(arguments["threads"])
    a, b = (torch.from_numpy(array) for array in normal_arrays(arguments["shapes"]))
    c = torch.empty(a.shape[0], b.shape[1])
    return Workload(lambda: torch.matmul(a, b, out=c), lambda: np.asarray(c.numpy()))


def multiply_batches(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Multiply pairs of matrices."""
    product: np.ndarray = np.matmul(x, y)
    return product


def convolve(image: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Correlate with 3x3 filters: nine matrix products, each on a shifted image."""
    height, width = image.shape[0] - 2, image.shape[1] - 2
    result = np.zeros((height, width, filters.shape[3]), image.dtype)
    for dy in range(3):
        for dx in range(3):
            result += image[dy : dy + height, dx : dx + width] @ filters[dy, dx]
    return result


def numpy_batched_matmul(arguments: dict[str, Any]) -> Workload:
    """Multiply batches with NumPy into an existing array."""
    x, y = normal_arrays(arguments["shapes"])
    z = np.matmul(x, y)
    return Workload(lambda: np.matmul(x, y, out=z), lambda: z)


def torch_batched_matmul(arguments: dict[str, Any]) -> Workload:
    """Multiply batches with torch into an existing tensor."""
    import torch

    torch.set_num_threads(arguments["threads"])
    x, y = (torch.from_numpy(array) for array in normal_arrays(arguments["shapes"]))
    z = torch.bmm(x, y)
    return Workload(lambda: torch.bmm(x, y, out=z), lambda: np.asarray(z.numpy()))


def numpy_conv3x3(arguments: dict[str, Any]) -> Workload:
    """Convolve with NumPy."""
    image, filters = normal_arrays(arguments["shapes"])
    return Workload(lambda: convolve(image, filters), lambda: convolve(image, filters))


def torch_conv3x3(arguments: dict[str, Any]) -> Workload:
    """Convolve with torch, weights and image in the layout it likes best."""
    import torch

    torch.set_num_threads(arguments["threads"])
    image, filters = (
        torch.from_numpy(array) for array in normal_arrays(arguments["shapes"])
    )
    last = torch.channels_last
    x = image.permute(2, 0, 1)[None].contiguous(memory_format=last)
    w = filters.permute(3, 2, 0, 1).contiguous(memory_format=last)

    def run() -> Any:
        with torch.inference_mode():
            return torch.nn.functional.conv2d(x, w)

    return Workload(run, lambda: np.asarray(run()[0].permute(1, 2, 0).numpy()))
