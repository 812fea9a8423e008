"""A place that imports of the API name; see patcher/parts.py."""
