"""Test data of ONNX that is newer than Debian's (opsets 18 and up), through importer and float executor.
QBC_CONFORMANCE names its folder (node/<case>/model.onnx) or a .tar.xz of it; what does not pass stands in
conformance_newer.txt with the reason, and a difference to that file is a failure.

  QBC_CONFORMANCE=FOLDER ./qb bench newer_conformance
"""
import os
import subprocess
import sys
import tarfile
import tempfile


def run(folder):
    binary = os.path.join(os.environ["QB_BIN_DIR"], "qb_conformance_test")
    return subprocess.call([binary, "--gtest_filter=*NewerCases*"],
                           env=dict(os.environ, QBC_CONFORMANCE=folder))


def main():
    place = os.environ.get("QBC_CONFORMANCE")
    if not place:
        print("skipped: QBC_CONFORMANCE names no newer test data of ONNX")
        return 0
    if os.path.isdir(place):
        return run(place)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(place) as archive:
        root = os.path.realpath(folder)
        for member in archive.getmembers():
            target = os.path.realpath(os.path.join(root, member.name))
            if not (member.isfile() or member.isdir()) or not target.startswith(root + os.sep):
                raise SystemExit("%s: member '%s' is refused" % (place, member.name))
        archive.extractall(folder)
        return run(folder)


if __name__ == "__main__":
    sys.exit(main())
