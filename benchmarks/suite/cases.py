"""The cases of the suite for CPUs."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case


def cpu_cases() -> list[Case]:
    """Return all cases, family by family."""
    return [
        *_products(),
        *_images(),
        *_rows(),
        *_elements(),
        *_reductions(),
        *_movement(),
        *_physics(),
    ]


def _matmul(kernel: str, m: int, n: int, k: int) -> Case:
    return Case("products", kernel, {"M": m, "N": n, "K": k})


def _products() -> Iterator[Case]:
    for kernel in ("matmul", "matmul_f64"):
        for m, n, k in (
            (1024, 1024, 1024),
            (2048, 2048, 2048),
            (511, 509, 503),
            (16, 4096, 4096),
            (8192, 64, 64),
            (64, 64, 8192),
        ):
            yield _matmul(kernel, m, n, k)
    yield _matmul("matmul", 37, 129, 4096)
    yield _matmul("matmul_tn", 1024, 1024, 1024)
    yield _matmul("matmul_nt", 1024, 1024, 1024)
    yield Case("products", "batched_matmul", {"B": 64, "M": 64, "N": 64, "K": 64})
    yield Case("products", "batched_matmul_f64", {"B": 64, "M": 64, "N": 64, "K": 64})
    yield _matmul("matmul_bias_gelu", 512, 3072, 768)
    yield _matmul("matmul_i8", 1024, 1024, 1024)
    yield _matmul("matmul_bf16", 1024, 1024, 1024)
    yield Case("products", "matvec", {"M": 4096, "K": 4096})
    yield Case("products", "matvec", {"M": 512, "K": 512})
    yield Case("products", "matvec_f64", {"M": 4096, "K": 4096})
    yield Case("products", "vecmat", {"K": 4096, "N": 4096})
    sizes = {"M": 4096, "B": 128}
    yield Case("products", "q4_matvec", sizes, {"scales": "blocks"})


def _images() -> Iterator[Case]:
    for kernel, h, w, c, f in (
        ("conv3x3", 56, 56, 64, 64),
        ("conv3x3", 14, 14, 256, 256),
        ("conv3x3", 7, 7, 512, 512),
        ("conv1x1", 56, 56, 64, 256),
        ("conv1x1", 14, 14, 1024, 256),
        ("conv7x7s2", 112, 112, 3, 64),
    ):
        yield Case("images", kernel, {"H": h, "W": w, "C": c, "F": f})
    yield Case("images", "depthwise3x3", {"H": 112, "W": 112, "C": 32})
    yield Case("images", "depthwise3x3", {"H": 14, "W": 14, "C": 512})


def _rows() -> Iterator[Case]:
    yield Case("rows", "softmax", {"M": 1024, "N": 1024})
    yield Case("rows", "softmax", {"M": 64, "N": 32000})
    for kernel in ("log_softmax", "layer_norm", "rms_norm"):
        yield Case("rows", kernel, {"M": 1024, "N": 1024})
    yield Case("rows", "layer_norm", {"M": 128, "N": 768})
    for length in (128, 512, 2048):
        for kernel in ("attention", "causal_attention"):
            sizes = {"H": 8, "L": length, "D": 64}
            yield Case("rows", kernel, sizes, {"scale": "root {D}"})


def _elements() -> Iterator[Case]:
    for kernel in ("exp", "tanh", "sigmoid", "silu", "gelu", "gelu_f64", "softplus"):
        yield Case("elements", kernel, {"N": 1 << 20})
    yield Case("elements", "triad", {"N": 1 << 24})


def _reductions() -> Iterator[Case]:
    yield Case("reductions", "total", {"N": 1 << 24})
    for kernel in ("row_means", "column_variances", "row_argmax", "row_cumsum"):
        yield Case("reductions", kernel, {"M": 1024, "N": 1024})


def _movement() -> Iterator[Case]:
    yield Case("movement", "transpose", {"M": 2048, "N": 2048})
    yield Case("movement", "transpose", {"M": 509, "N": 1021})
    yield Case("movement", "channels_last", {"C": 64, "H": 56, "W": 56})
    words = {"words": "below {V}"}
    yield Case("movement", "embedding", {"V": 32000, "N": 1024, "M": 2048}, words)
    yield Case("movement", "histogram", {"N": 1 << 24})


def _physics() -> Iterator[Case]:
    yield Case("physics", "jacobi", {"T": 10, "N": 1024})
    yield Case("physics", "heat", {"T": 5, "N": 128})
    yield Case("physics", "seidel", {"T": 10, "N": 1024})
    bodies = {"N": 4096}
    yield Case("physics", "attraction", bodies, {"mass": "positive"})
