"""Lesson 2: a kernel inside a real program.

What you learn: one kernel serves all sizes; a kernel is called like any function on
NumPy arrays; a tuned schedule is found by later calls without a change to the program.

The data are the 1,797 handwritten digits of 8 by 8 pixels that scikit-learn ships.
Every second digit is labelled with what the majority of its three nearest neighbours
among the others say. The work is in the matrix of squared distances:

    for i in range(Q):
        for j in range(R):
            D[i, j] = 0
    for i in range(Q):
        for j in range(R):
            for p in range(P):
                t = X[i, p] - Y[j, p]
                D[i, j] += t * t

Run it, with or without tuning the kernel first for some seconds:

    python examples/02_digits.py
    python examples/02_digits.py --budget 0     (with the default schedule)
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import tdsl
from tdsl import f32

Q, R, P = tdsl.dims("Q R P")
NEIGHBOURS = 3


@tdsl.kernel
def squared_distances(X: f32[Q, P], Y: f32[R, P]) -> f32[Q, R]:
    """Return the squared distance of every row of X to every row of Y."""
    D = tdsl.zeros((Q, R), f32)
    for i, j, p in tdsl.grid(Q, R, P):
        t = X[i, p] - Y[j, p]
        D[i, j] += t * t
    return D


def classify(distances: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return for each row what most of the nearest neighbours say.

    Of neighbours equally far the first counts, of labels equally frequent the smallest.
    """
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOURS]
    return np.array([np.bincount(votes).argmax() for votes in labels[nearest]])


def is_ambiguous(distances: np.ndarray, labels: np.ndarray) -> bool:
    """Say whether a vote depends on which of equally far neighbours is taken.

    scikit-learn's choice among them depends on its threads, so labels can only be
    compared where there is none.
    """
    for row in distances:
        limit = np.partition(row, NEIGHBOURS - 1)[NEIGHBOURS - 1]
        tied = labels[row == limit]
        left_over = np.count_nonzero(row <= limit) > NEIGHBOURS
        if left_over and len(set(tied)) > 1:
            return True
    return False


def main(arguments: Sequence[str] = ()) -> float:
    """Classify the digits, compare with scikit-learn and return the accuracy."""
    parser = argparse.ArgumentParser(description="nearest neighbours on digits")
    parser.add_argument(
        "--budget", type=float, default=15, help="seconds to tune the kernel first"
    )
    options = parser.parse_args(arguments)
    images, labels = load_digits(return_X_y=True)
    pixels = np.ascontiguousarray(images, dtype=np.float32)
    known, known_labels = pixels[::2].copy(), labels[::2]
    asked, asked_labels = pixels[1::2].copy(), labels[1::2]
    if options.budget:
        dims = {"Q": len(asked), "R": len(known), "P": pixels.shape[1]}
        tuned = tdsl.tune(squared_distances, dims, budget_s=options.budget)
        gain = f", {tuned.speedup.median:.2f}x the default" if tuned.speedup else ""
        print(f"tuned with {tuned.trials} candidates: {tuned.outcome}{gain}")

    # Pixels are whole numbers up to 16, so these float32 distances are exact.
    distances = squared_distances(asked, known)
    predicted = classify(distances, known_labels)

    assert not is_ambiguous(distances, known_labels)
    theirs = KNeighborsClassifier(NEIGHBOURS, algorithm="brute")
    theirs.fit(known, known_labels)
    assert (predicted == theirs.predict(asked)).all(), "labels differ from scikit-learn"

    accuracy = float(np.mean(predicted == asked_labels))
    print(f"{len(asked)} digits, labels the same as scikit-learn's")
    print(f"accuracy {accuracy:.2%}")
    return accuracy


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
