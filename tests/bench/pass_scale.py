"""Time of the passes on generated graphs of 1000, 3000 and 10 000 nodes (qb_pass_scale).

  ./qb bench pass_scale
"""
import os
import subprocess
import sys

if __name__ == "__main__":
    sys.exit(subprocess.call([os.path.join(os.environ["QB_BIN_DIR"], "qb_pass_scale")]))
