#!/usr/bin/python3
"""Prints the table that ends `./qb demo`.

    demo_table.py EVALUATION.json MODEL.onnx RESULT.mxq BEGIN END

The first file is what `qbcompiler evaluate --json` wrote; BEGIN and END are seconds around the
compile.
"""

import json
import os
import sys


def kilobytes(path):
    return f"{os.path.getsize(path) / 1000:.1f} kB"


def main():
    evaluation_path, model_path, mxq_path, begin, end = sys.argv[1:]
    with open(evaluation_path) as stream:
        evaluation = json.load(stream)
    output = evaluation["outputs"][0]
    rows = [
        ("float top-1", f"{100 * evaluation['float_top1']:.1f} %"),
        ("int8 top-1 (simulator)", f"{100 * evaluation['quantized_top1']:.1f} %"),
        ("agreement of the two", f"{100 * output['agreement']:.1f} %"),
        ("SQNR of the logits", f"{output['sqnr_db']:.1f} dB"),
        ("size of the float model", kilobytes(model_path)),
        ("size of the .mxq", kilobytes(mxq_path)),
        ("upload to download", f"{float(end) - float(begin):.1f} s"),
    ]
    width = max(len(name) for name, _ in rows)
    print(f"\nfashion.onnx on aries-rb, {evaluation['samples']} labelled images")
    for name, value in rows:
        print(f"  {name:<{width}}  {value:>10}")


if __name__ == "__main__":
    main()
