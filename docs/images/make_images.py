#!/usr/bin/python3
"""Makes the pictures of the README: the dashboard and a terminal, of the example in examples/fashion.

    docs/images/make_images.py

Needs what the dashboard's tests need (./setup --dev) and a release build."""

import html
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests/browser"), str(HERE.parents[1] / "tests/e2e")]
import browser
import stack

EXAMPLE = stack.ROOT / "examples/fashion"
COMMAND = ["compile", "fashion.onnx", "--target-device", "aries-rb", "--calib-data-path", "calib", "-o", "fashion.mxq"]
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #12161c; }}
pre {{ margin: 0; padding: 18px 22px; color: #e6eaf0; font: 14px/1.5 "DejaVu Sans Mono", monospace; }}
b {{ color: #7fb0ff; font-weight: normal; }}
</style><pre>{}</pre>"""


def screen(text):
    """What is left on a terminal after `text`, as lines."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]|\x1b", text):
        if part == "\n":
            row += 1
        elif part == "\r":
            column = 0
        elif part.endswith("A") and part.startswith("\x1b["):
            row = max(0, row - int(part[2:-1] or 1))
        elif part.endswith(("K", "J")) and part.startswith("\x1b["):
            lines[row] = "" if part[2:-1] == "2" else lines[row][:column]
            if part.endswith("J"):
                del lines[row + 1:]
        elif not part.startswith("\x1b"):
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + 1:]
            column += 1
        while len(lines) <= row:
            lines.append("")
    return [line.rstrip() for line in lines]


def terminal_page(own, folder):
    """A page with what `qbc compile` leaves on a terminal."""
    arguments = [str(EXAMPLE / word) if word in ("fashion.onnx", "calib") else word for word in COMMAND]
    arguments[-1] = own.path("fashion.mxq")
    code, output = own.on_terminal(*arguments, columns=100).finish()
    if code != 0:
        raise SystemExit(output.decode())
    left = "\n".join(screen(output.decode())).replace(str(EXAMPLE) + "/", "").replace(str(own.folder) + "/", "")
    path = folder / "terminal.html"
    path.write_text(PAGE.format(f"<b>$</b> {html.escape('qbc ' + ' '.join(COMMAND))}\n{html.escape(left.rstrip())}"))
    return path


def main():
    missing = browser.why_not()
    if missing:
        raise SystemExit(missing)
    with stack.Stack(http=True) as own, tempfile.TemporaryDirectory() as folder:
        page = terminal_page(own, pathlib.Path(folder))
        job = own.qbc("submit", EXAMPLE / "fashion.onnx", "-t", "aries-rb", "--calib-data-path", EXAMPLE / "calib", check=0).stdout.strip()
        own.qbc("wait", job, check=0, timeout_s=300)
        browser.run("pictures", site=own.site, shots=[
            {"path": str(HERE / "dashboard.png"), "where": f"/jobs/{job}#graph", "width": 1180, "height": 820, "layer": "conv"}])
        browser.run("picture", file=page.as_uri(), path=str(HERE / "terminal.png"), width=1010)


if __name__ == "__main__":
    main()
