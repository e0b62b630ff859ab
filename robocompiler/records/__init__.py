"""The physical records: dataclasses, the input language and its checks."""
