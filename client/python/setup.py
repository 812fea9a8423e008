"""Two things that pyproject.toml cannot say: protoc writes the descriptors of the gRPC interface into the
package, and the package does not replace another one of its name in silence."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROTOS = sorted((ROOT / "proto/qbc/v1").glob("*.proto"))
DESCRIPTORS = "qbc_v1.binpb"
# A file that only this project's package has.
OURS = "field_names.py"


def other_package():
    """Where another package named qbcompiler is installed, or None. Isolated builds hide the
    environment's modules, but its folders are known all the same."""
    for key in ("purelib", "platlib"):
        folder = pathlib.Path(sysconfig.get_path(key)) / "qbcompiler"
        if folder.is_dir() and not (folder / OURS).exists():
            return folder
    return None


class BuildWithDescriptors(build_py):
    def run(self):
        found = other_package()
        if found is not None and os.environ.get("QBCOMPILER_REPLACE") != "1":
            sys.exit(f"there is another package named qbcompiler in {found}. It would be replaced: install "
                     "into a virtual environment of its own, or set QBCOMPILER_REPLACE=1")
        super().run()
        target = HERE if getattr(self, "editable_mode", False) else pathlib.Path(self.build_lib)
        write_descriptors(target / "qbcompiler" / DESCRIPTORS)


def write_descriptors(target):
    protoc = shutil.which(os.environ.get("PROTOC", "protoc"))
    if protoc is None or not PROTOS:
        sys.exit("building needs protoc (Debian: protobuf-compiler) and the proto/ folder of the checkout")
    subprocess.run([protoc, f"-I{ROOT}", "--include_imports", f"--descriptor_set_out={target}", *PROTOS],
                   check=True)


setup(cmdclass={"build_py": BuildWithDescriptors})
