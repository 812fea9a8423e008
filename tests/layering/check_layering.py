"""Holds a source tree to the table in arrows.py. Reads #include lines and CMake link lists; builds
nothing."""

import fnmatch
import pathlib
import re

import arrows

SOURCE_SUFFIXES = (".h", ".cc")
COUNTED_SUFFIXES = (".h", ".cc", ".py", ".sh", ".cmake", ".proto")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
CALL = re.compile(r"\b(qb_library|qb_binary|qb_test|qb_fuzzer|qb_proto|target_link_libraries)\s*\(([^)]*)\)",
                  re.DOTALL)
KEYWORDS = {"SRCS", "DEPS", "PRIVATE_DEPS", "LABEL", "TIMEOUT", "PROTOS", "GRPC", "PUBLIC", "PRIVATE",
            "INTERFACE"}


def tree_files(root, suffixes):
    """Paths relative to `root` of the files that git would see, sorted."""
    skipped = {".git", ".cache", "build", "node_modules", "__pycache__"}
    found = []
    stack = [pathlib.Path(root)]
    while stack:
        for entry in stack.pop().iterdir():
            if entry.is_dir() and not entry.is_symlink():
                if entry.name not in skipped:
                    stack.append(entry)
            elif entry.name.endswith(suffixes):
                found.append(str(entry.relative_to(root)))
    return sorted(found)


def is_test_code(path):
    """Tests may look at anything of the core and of their own part."""
    return (re.search(r"_(test|fuzz|fuzzer|benchmark|bench)\.cc$", path) is not None
            or "/testing/" in path or "/testdata/" in path)


def folder_of(path):
    """The folder of the table that a file or header lies in, or None."""
    best = None
    for folder in arrows.ARROWS:
        if path.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def reachable(folder):
    """Every folder that `folder` may use."""
    seen = {folder}
    stack = [folder]
    while stack:
        for used in arrows.ARROWS[stack.pop()]:
            if used not in seen:
                seen.add(used)
                stack.append(used)
    return seen


def is_in_place(path, places):
    return any(fnmatch.fnmatch(path, place) if place.endswith("*") or place == path
               else path.startswith(place + "/") for place in places)


def includes_of(root, path):
    """(line number, header) of each #include."""
    result = []
    text = (pathlib.Path(root) / path).read_text(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            result.append((number, match.group(2)))
    return result


def is_single_part(folder, name):
    """May `folder` use this header or CMake target although not the folder that has it?"""
    return any(user == folder and name in (header, target)
               for user, header, target in arrows.SINGLE_PARTS)


def is_free(path):
    return path.split("/")[0] in arrows.FREE_FOLDERS


def check_table(root):
    """The table itself: no cycle, and a row for every folder that has sources."""
    problems = []
    for folder, used in arrows.ARROWS.items():
        for other in used:
            if other not in arrows.ARROWS:
                problems.append(f"arrows.py: {folder} may use {other}, which has no row")
            elif folder in reachable(other):
                problems.append(f"arrows.py: {folder} and {other} may use each other")
    for path in tree_files(root, SOURCE_SUFFIXES):
        if "/" in path and not is_free(path) and folder_of(path) is None:
            problems.append(f"{path}: its folder has no row in tests/layering/arrows.py")
    return problems


def check_includes(root):
    """#include lines against the arrows."""
    problems = []
    for path in tree_files(root, SOURCE_SUFFIXES):
        folder = folder_of(path)
        if folder is None:
            continue
        allowed = reachable(folder)
        for number, header in includes_of(root, path):
            used = "proto" if header.startswith("proto/") else folder_of(header)
            if used is None or used in allowed or is_single_part(folder, header):
                continue
            same_part = used.split("/")[0] == folder.split("/")[0]
            if is_test_code(path) and (same_part or used.startswith("core/")):
                continue
            problems.append(f"{path}:{number}: {folder} may not use {used} ({header})")
    return problems


def check_third_party(root):
    """Each package's headers stay in one place."""
    problems = []
    for path in tree_files(root, SOURCE_SUFFIXES):
        if is_free(path) or is_test_code(path):
            continue
        for number, header in includes_of(root, path):
            places = None
            if header.endswith(arrows.GRPC_STUB_SUFFIX):
                places = arrows.GRPC_STUB_PLACES
            for prefix, allowed in arrows.THIRD_PARTY:
                if header.startswith(prefix):
                    places = allowed
            if places is not None and not is_in_place(path, places):
                problems.append(f"{path}:{number}: <{header}> belongs in {', '.join(places)}")
    return problems


def cmake_targets(root):
    """name -> (kind, folder of the CMakeLists.txt, link list, sources)."""
    targets = {}
    links = []
    for path in tree_files(root, ("CMakeLists.txt",)):
        text = re.sub(r"#.*", "", (pathlib.Path(root) / path).read_text())
        folder = str(pathlib.PurePosixPath(path).parent)
        for kind, body in CALL.findall(text):
            words = body.split()
            if not words:
                continue
            if kind == "target_link_libraries":
                links.append((words[0], [w for w in words[1:] if w not in KEYWORDS]))
                continue
            section, deps, sources = None, [], []
            for word in words[1:]:
                if word in KEYWORDS:
                    section = word
                elif section in ("DEPS", "PRIVATE_DEPS"):
                    deps.append(word)
                elif section == "SRCS":
                    sources.append(word)
            targets[words[0]] = (kind, folder, deps, sources)
    for name, deps in links:
        if name in targets:
            targets[name][2].extend(deps)
    return targets


def part_of(cmake_folder):
    """The row of the table for the folder of a CMakeLists.txt."""
    return "proto" if cmake_folder.split("/")[0] == "proto" else folder_of(cmake_folder + "/x")


def dependency(name, targets):
    """Resolves an alias like qbc::proto to the target's name."""
    return {"qbc::proto": "qbc_proto"}.get(name, name) if name not in targets else name


def check_links(root):
    """CMake link lists against the arrows, and against the places of packages."""
    problems = []
    targets = cmake_targets(root)
    for _, _, part in arrows.SINGLE_PARTS:
        if part in targets and linked_folders(part, targets) - {part_of(targets[part][1]),
                                                                "core/base"}:
            problems.append(f"{part} links more than core/base: it is no single part")
    for name, (kind, cmake_folder, deps, _) in sorted(targets.items()):
        folder = part_of(cmake_folder)
        if folder is None or kind in ("qb_test", "qb_fuzzer") or name.endswith("_testing"):
            continue
        allowed = reachable(folder)
        for dep in deps:
            dep = dependency(dep, targets)
            if dep in targets:
                used = part_of(targets[dep][1])
                if used is not None and used not in allowed and not is_single_part(folder, dep):
                    problems.append(f"{cmake_folder}/CMakeLists.txt: {name} may not link {dep}: "
                                    f"{folder} may not use {used}")
            for prefix, places in arrows.THIRD_PARTY_TARGETS:
                matches = dep == prefix or (prefix.endswith("::") and dep.startswith(prefix)) or (
                    dep.startswith(prefix + "::"))
                if matches and not is_in_place(cmake_folder + "/x", places):
                    problems.append(f"{cmake_folder}/CMakeLists.txt: {name} may not link {dep}, "
                                    f"which belongs in {', '.join(places)}")
    return problems


def linked_folders(name, targets):
    """Folders of all targets that `name` links, directly or not."""
    seen, stack, folders = set(), [name], set()
    while stack:
        current = dependency(stack.pop(), targets)
        if current in seen or current not in targets:
            continue
        seen.add(current)
        folders.add(part_of(targets[current][1]))
        stack.extend(targets[current][2])
    return folders


def check_links_cover_includes(root):
    """What a library's sources include, its link list has."""
    problems = []
    targets = cmake_targets(root)
    for name, (kind, cmake_folder, _, sources) in sorted(targets.items()):
        if kind not in ("qb_library", "qb_binary"):
            continue
        linked = linked_folders(name, targets)
        for source in sources:
            path = f"{cmake_folder}/{source}"
            if "$" in source or not (pathlib.Path(root) / path).is_file():
                continue
            for number, header in includes_of(root, path):
                used = "proto" if header.startswith("proto/") else folder_of(header)
                if used is not None and used not in linked and used != folder_of(path):
                    problems.append(f"{path}:{number}: includes {header}, but {name} does not link "
                                    f"a library of {used}")
    return problems


def check_file_length(root):
    """No file is longer than a person reads in one go."""
    problems = []
    for path in tree_files(root, COUNTED_SUFFIXES):
        if path in arrows.GENERATED_FILES:
            continue
        with open(pathlib.Path(root) / path, errors="replace") as stream:
            lines = sum(1 for _ in stream)
        if lines > arrows.MAX_FILE_LINES:
            problems.append(f"{path}: {lines} lines; at most {arrows.MAX_FILE_LINES}")
    return problems


ALL_CHECKS = [check_table, check_includes, check_third_party, check_links,
              check_links_cover_includes, check_file_length]
