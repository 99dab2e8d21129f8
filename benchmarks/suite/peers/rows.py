"""What is done to each row of a matrix: normalisation and attention."""

from __future__ import annotations

from typing import Any

EPSILON = 1e-5


def softmax(np: Any, x: Any) -> Any:
    """Return exp(x) over the sum of the row."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def torch_softmax(torch: Any, x: Any) -> Any:
    """Return exp(x) over the sum of the row."""
    return torch.softmax(x, -1)


def log_softmax(np: Any, x: Any) -> Any:
    """Return the logarithm of the softmax."""
    top = np.max(x, axis=-1, keepdims=True)
    return x - top - np.log(np.sum(np.exp(x - top), axis=-1, keepdims=True))


def torch_log_softmax(torch: Any, x: Any) -> Any:
    """Return the logarithm of the softmax."""
    return torch.log_softmax(x, -1)


def layer_norm(np: Any, x: Any, scale: Any, shift: Any) -> Any:
    """Bring rows to mean 0 and variance 1, then scale and shift."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + EPSILON) * scale + shift


def torch_layer_norm(torch: Any, x: Any, scale: Any, shift: Any) -> Any:
    """Bring rows to mean 0 and variance 1, then scale and shift."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift, EPSILON)


def rms_norm(np: Any, x: Any, scale: Any) -> Any:
    """Divide rows by the root of their mean square, then scale."""
    mean_square = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(mean_square + EPSILON) * scale


def torch_rms_norm(torch: Any, x: Any, scale: Any) -> Any:
    """Divide rows by the root of their mean square, then scale."""
    return torch.nn.functional.rms_norm(x, x.shape[-1:], scale, EPSILON)


def attention(np: Any, q: Any, k: Any, v: Any, scale: Any) -> Any:
    """Return weighted means of the rows of v."""
    return np.matmul(softmax(np, np.matmul(q, np.swapaxes(k, -1, -2)) * scale), v)


def torch_attention(torch: Any, q: Any, k: Any, v: Any, scale: Any) -> Any:
    """Return weighted means of the rows of v."""
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q[None], k[None], v[None], scale=float(scale))[0]


def causal_attention(np: Any, q: Any, k: Any, v: Any, scale: Any) -> Any:
    """Return means over the rows that are not later."""
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * scale
    seen = np.tril(np.ones(scores.shape[-2:], bool))
    return np.matmul(softmax(np, np.where(seen, scores, -np.inf)), v)


def torch_causal_attention(torch: Any, q: Any, k: Any, v: Any, scale: Any) -> Any:
    """Return means over the rows that are not later."""
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q[None], k[None], v[None], is_causal=True, scale=float(scale))[0]
