"""Convolutions of one image, channels last, with bias and ReLU."""

from __future__ import annotations

from typing import Any


def _correlate(np: Any, x: Any, k: Any, bias: Any, size: int, step: int) -> Any:
    """Add up products of matrices, one for each place in the filter."""
    height = (x.shape[0] - size) // step + 1
    width = (x.shape[1] - size) // step + 1
    total = bias
    for dy in range(size):
        for dx in range(size):
            seen = x[dy : dy + step * height : step, dx : dx + step * width : step]
            total = total + np.matmul(seen[:height, :width], k[dy, dx])
    return np.maximum(total, 0)


def conv1x1(np: Any, x: Any, k: Any, bias: Any) -> Any:
    """Mix the channels of each pixel."""
    return np.maximum(np.matmul(x, k) + bias, 0)


def conv3x3(np: Any, x: Any, k: Any, bias: Any) -> Any:
    """Correlate with filters of 3 by 3."""
    return _correlate(np, x, k, bias, 3, 1)


def conv7x7s2(np: Any, x: Any, k: Any, bias: Any) -> Any:
    """Correlate with filters of 7 by 7 at every second pixel."""
    return _correlate(np, x, k, bias, 7, 2)


def depthwise3x3(np: Any, x: Any, k: Any, bias: Any) -> Any:
    """Correlate each channel with a filter of its own."""
    height, width, total = x.shape[0] - 2, x.shape[1] - 2, bias
    for dy in range(3):
        for dx in range(3):
            total = total + x[dy : dy + height, dx : dx + width] * k[dy, dx]
    return np.maximum(total, 0)


def _arranged(torch: Any, x: Any, k: Any, bias: Any, layout: Any) -> Any:
    """Return a batch of one image and the filters, both in *layout*."""
    filters = k.permute(3, 2, 0, 1).contiguous(memory_format=layout)
    return x.permute(2, 0, 1)[None].contiguous(memory_format=layout), filters, bias


def prepare_torch_conv3x3(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Bring the channels last in memory."""
    return _arranged(torch, x, k, bias, torch.channels_last)


def prepare_torch_nchw_conv3x3(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Bring the channels first in memory."""
    return _arranged(torch, x, k, bias, torch.contiguous_format)


def torch_conv3x3(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Convolve, add the bias, cut off below 0."""
    return torch.relu_(torch.nn.functional.conv2d(x, k, bias))


def finish_torch_conv3x3(torch: Any, y: Any) -> Any:
    """Return one image, channels last."""
    return y[0].permute(1, 2, 0)


torch_nchw_conv3x3 = torch_conv3x3
finish_torch_nchw_conv3x3 = finish_torch_conv3x3


def prepare_torch_conv1x1(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Bring the channels last in memory."""
    return _arranged(torch, x, k[None, None], bias, torch.channels_last)


def prepare_torch_nchw_conv1x1(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Bring the channels first in memory."""
    return _arranged(torch, x, k[None, None], bias, torch.contiguous_format)


torch_conv1x1 = torch_nchw_conv1x1 = torch_conv3x3
finish_torch_conv1x1 = finish_torch_nchw_conv1x1 = finish_torch_conv3x3

prepare_torch_conv7x7s2 = prepare_torch_conv3x3
prepare_torch_nchw_conv7x7s2 = prepare_torch_nchw_conv3x3


def torch_conv7x7s2(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Convolve at every second pixel, add the bias, cut off below 0."""
    return torch.relu_(torch.nn.functional.conv2d(x, k, bias, stride=2))


torch_nchw_conv7x7s2 = torch_conv7x7s2
finish_torch_conv7x7s2 = finish_torch_nchw_conv7x7s2 = finish_torch_conv3x3


def prepare_torch_depthwise3x3(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Bring the channels last in memory; each filter has one channel."""
    return _arranged(torch, x, k[:, :, None], bias, torch.channels_last)


def prepare_torch_nchw_depthwise3x3(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Bring the channels first in memory; each filter has one channel."""
    return _arranged(torch, x, k[:, :, None], bias, torch.contiguous_format)


def torch_depthwise3x3(torch: Any, x: Any, k: Any, bias: Any) -> Any:
    """Convolve channel by channel, add the bias, cut off below 0."""
    convolved = torch.nn.functional.conv2d(x, k, bias, groups=x.shape[1])
    return torch.relu_(convolved)


torch_nchw_depthwise3x3 = torch_depthwise3x3
finish_torch_depthwise3x3 = finish_torch_nchw_depthwise3x3 = finish_torch_conv3x3
