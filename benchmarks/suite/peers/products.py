"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any


def matmul(np: Any, x: Any, y: Any) -> Any:
    """Multiply matrices, or pairs of matrices."""
    return np.matmul(x, y)


def torch_matmul(torch: Any, x: Any, y: Any) -> Any:
    """Multiply matrices, or pairs of matrices."""
    return torch.matmul(x, y)


matmul_f64 = batched_matmul = batched_matmul_f64 = matmul
torch_matmul_f64 = torch_batched_matmul = torch_batched_matmul_f64 = torch_matmul
matvec = matvec_f64 = vecmat = matmul
torch_matvec = torch_matvec_f64 = torch_vecmat = torch_matmul


def matmul_tn(np: Any, x: Any, y: Any) -> Any:
    """Multiply the transpose of a matrix with a matrix."""
    return np.matmul(x.T, y)


def torch_matmul_tn(torch: Any, x: Any, y: Any) -> Any:
    """Multiply the transpose of a matrix with a matrix."""
    return torch.matmul(x.T, y)


def matmul_nt(np: Any, x: Any, y: Any) -> Any:
    """Multiply a matrix with the transpose of a matrix."""
    return np.matmul(x, y.T)


def torch_matmul_nt(torch: Any, x: Any, y: Any) -> Any:
    """Multiply a matrix with the transpose of a matrix."""
    return torch.matmul(x, y.T)


def matmul_bias_gelu(np: Any, x: Any, y: Any, bias: Any) -> Any:
    """Multiply, add a row and apply the exact GELU."""
    from scipy.special import erf

    z = np.matmul(x, y) + bias
    return 0.5 * z * (1 + erf(z * 0.5**0.5))


def jax_matmul_bias_gelu(np: Any, x: Any, y: Any, bias: Any) -> Any:
    """Multiply, add a row and apply the exact GELU."""
    import jax

    return jax.nn.gelu(np.matmul(x, y) + bias, approximate=False)


def prepare_torch_matmul_bias_gelu(torch: Any, x: Any, y: Any, bias: Any) -> Any:
    """Hold the weights as a linear layer does."""
    return x, y.T.contiguous(), bias


def torch_matmul_bias_gelu(torch: Any, x: Any, weights: Any, bias: Any) -> Any:
    """Apply a linear layer and the exact GELU."""
    functional = torch.nn.functional
    return functional.gelu(functional.linear(x, weights, bias))


def numpy_matmul_i8(np: Any, x: Any, y: Any) -> Any:
    """Multiply in double precision, which is exact and has a BLAS."""
    return np.matmul(x.astype("f8"), y.astype("f8")).astype("i4")


def jax_matmul_i8(np: Any, x: Any, y: Any) -> Any:
    """Multiply bytes into integers of 32 bits."""
    return np.matmul(x, y, preferred_element_type="int32")


def torch_matmul_i8(torch: Any, x: Any, y: Any) -> Any:
    """Multiply bytes into integers of 32 bits."""
    return torch._int_mm(x, y)


def matmul_bf16(np: Any, x: Any, y: Any) -> Any:
    """Multiply narrow numbers."""
    return np.matmul(x, y)


def numpy_matmul_bf16(np: Any, x: Any, y: Any) -> Any:
    """Widen, then multiply."""
    return np.matmul(x.astype("f4"), y.astype("f4"))


def torch_matmul_bf16(torch: Any, x: Any, y: Any) -> Any:
    """Multiply; the result is bf16 here, and f32 in tdsl."""
    return torch.matmul(x, y)


def q4_matvec(np: Any, scales: Any, nibbles: Any, y: Any) -> Any:
    """Unpack the weights, then multiply."""
    low, high = nibbles % 16 - 8.0, nibbles // 16 - 8.0
    weights = np.concatenate([low, high], -1) * scales[..., None]
    return np.matmul(weights.reshape(weights.shape[0], -1), y.reshape(-1))


def torch_q4_matvec(torch: Any, scales: Any, nibbles: Any, y: Any) -> Any:
    """Unpack the weights, then multiply."""
    low, high = (nibbles % 16).float() - 8.0, (nibbles // 16).float() - 8.0
    weights = torch.cat([low, high], -1) * scales[..., None].float()
    return torch.matmul(weights.reshape(weights.shape[0], -1), y.reshape(-1))
