"""Functions of single elements, and arrays read or written once."""

from __future__ import annotations

from typing import Any


def exp(np: Any, x: Any) -> Any:
    """Return e to the x."""
    return np.exp(x)


def torch_exp(torch: Any, x: Any) -> Any:
    """Return e to the x."""
    return torch.exp(x)


numexpr_exp = "exp(X)"


def tanh(np: Any, x: Any) -> Any:
    """Return the hyperbolic tangent."""
    return np.tanh(x)


def torch_tanh(torch: Any, x: Any) -> Any:
    """Return the hyperbolic tangent."""
    return torch.tanh(x)


numexpr_tanh = "tanh(X)"


def sigmoid(np: Any, x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def torch_sigmoid(torch: Any, x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return torch.sigmoid(x)


numexpr_sigmoid = "1 / (1 + exp(-X))"


def silu(np: Any, x: Any) -> Any:
    """Return x sigmoid(x)."""
    return x / (1 + np.exp(-x))


def torch_silu(torch: Any, x: Any) -> Any:
    """Return x sigmoid(x)."""
    return torch.nn.functional.silu(x)


numexpr_silu = "X / (1 + exp(-X))"


def gelu(np: Any, x: Any) -> Any:
    """Return x times the normal distribution function of x."""
    from scipy.special import erf

    return 0.5 * x * (1 + erf(x * 0.5**0.5))


def jax_gelu(np: Any, x: Any) -> Any:
    """Return x times the normal distribution function of x."""
    import jax

    return jax.nn.gelu(x, approximate=False)


def torch_gelu(torch: Any, x: Any) -> Any:
    """Return x times the normal distribution function of x."""
    return torch.nn.functional.gelu(x)


gelu_f64, jax_gelu_f64, torch_gelu_f64 = gelu, jax_gelu, torch_gelu


def softplus(np: Any, x: Any) -> Any:
    """Return log(1 + exp(x))."""
    return np.logaddexp(x, 0)


def torch_softplus(torch: Any, x: Any) -> Any:
    """Return log(1 + exp(x))."""
    return torch.nn.functional.softplus(x, threshold=1e30)


numexpr_softplus = "where(X > 0, X, 0) + log1p(exp(-abs(X)))"


def triad(np: Any, x: Any, y: Any, a: Any) -> Any:
    """Return a x + y."""
    return a * x + y


def torch_triad(torch: Any, x: Any, y: Any, a: Any) -> Any:
    """Return a x + y, in one pass."""
    return torch.add(y, x, alpha=float(a))


numexpr_triad = "a * X + Y"
