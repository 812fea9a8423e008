#!/usr/bin/python3
"""What a recognizer has read: read_text.py FOLDER CHARACTERS prints "sample,label" lines for `evaluate --labels`.

Each file of the folder holds, for each column, a score for the blank and one for each character. CTC: the best of each
column, repetitions once, blanks left out."""

import itertools
import pathlib
import sys

import numpy as np


def main():
    folder, characters = sys.argv[1:]
    names = pathlib.Path(characters).read_text("utf-8").splitlines()
    print("sample,label")
    for path in sorted(pathlib.Path(folder).glob("*.npy")):
        scores = np.load(path)
        best = scores.reshape(-1, scores.shape[-1]).argmax(axis=1)
        print(f"{path.stem},{''.join(names[index - 1] for index, _ in itertools.groupby(best) if index)}")


if __name__ == "__main__":
    main()
