"""The C interface through ctypes. Structs, defaults and axes come from kernel_ladder.h, which is
beside the libraries."""
import ctypes
import os
import re
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
# or in the tree
HEADER = next(path for path in (HERE / "kernel_ladder.h", HERE.parents[1] / "include/kernel_ladder.h") if path.exists()).read_text()
TYPES = {"size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "float": ctypes.c_float, "const char*": ctypes.c_char_p}
STORAGES = {"fp32": 0, "bf16": 1, "bf16_fp32_decay": 2, "fp16": 3}
# others: RuntimeError
ERRORS = {1: ValueError, 2: NotImplementedError, 3: MemoryError, 6: FloatingPointError}
# members that callers of run() do not give
CONTROL = ("struct_size", "storage", "stream", "workspace", "workspace_bytes")


class Member:
    def __init__(self, kind, name, says, default):
        self.name, self.default = name, default
        self.is_array = kind.endswith("*") and kind != "const char*" and name not in CONTROL
        self.is_input = kind.startswith("const")
        self.element = re.sub(r"const |\*", "", kind)  # void, float, int64_t
        self.ctype = TYPES.get(kind, ctypes.c_void_p)
        self.axes = re.findall(r"\((.*?)\)", says)[:1]
        self.axes = [axis.strip() for axis in self.axes[0].split(",")] if self.is_array and self.axes else []
        self.is_optional = "or NULL" in says
        self.sizes = [_size(axis) for axis in self.axes]


def _size(axis):
    """"sequences + 1" is ("sequences", 1)."""
    base, _, more = axis.partition(" + ")
    return base, int(more or 0)


def _members(struct):
    body = re.search(rf"^typedef struct kl_{struct}_args \{{\n(.*?)^\}}", HEADER, re.DOTALL | re.MULTILINE)[1]
    values = re.search(rf"^#define KL_{struct.upper()}_ARGS \{{(.*)\}}$", HEADER, re.MULTILINE)[1].split(", ")
    lines = re.findall(r"^  ((?:const )?\w+\*?) (\w+);(?:  /\* (.*) \*/)?$", body, re.MULTILINE)
    return [Member(kind, name, says, value) for (kind, name, says), value in zip(lines, values, strict=True)]


def _usual(member):
    value = member.default
    return None if value == "NULL" or not re.match(r"-?\d", value) else float(value.rstrip("f")) if "." in value or "e" in value else int(value)


class Operator:
    """One function of the header, with its struct for ctypes."""

    def __init__(self, name, struct):
        self.name = name
        self.members = _members(struct)
        self.by_name = {member.name: member for member in self.members}
        # members that callers of run() may give
        self.given = [member.name for member in self.members if member.name not in CONTROL]
        self.arrays = [member for member in self.members if member.is_array]
        self.numbers = [member for member in self.members if not member.is_array and member.name not in CONTROL]
        self.struct = type(f"kl_{struct}_args", (ctypes.Structure,), {"_fields_": [(each.name, each.ctype) for each in self.members]})
        args = self.struct(struct_size=ctypes.sizeof(self.struct))
        for member in self.members:
            if not member.is_array and member.name != "struct_size" and (value := _usual(member)) is not None:
                setattr(args, member.name, value)
        self._usual = bytes(args)

    def usual(self):
        return self.struct.from_buffer_copy(self._usual)


OPERATORS = {name: Operator(name, struct) for name, struct in re.findall(r"^int32_t kl_(\w+)\(const kl_(\w+)_args\* args\);", HEADER, re.MULTILINE)}


class Library:
    def __init__(self, path):
        self.dll = ctypes.CDLL(str(path))
        self.dll.kl_error.restype = self.dll.kl_back_end.restype = self.dll.kl_kernels.restype = ctypes.c_char_p
        self.kernels = self.dll.kl_kernels().decode().split()
        self._functions = {f"{name}{more}": getattr(self.dll, f"kl_{name}{more}") for name in OPERATORS for more in ("", "_workspace", "_choice")}

    def _check(self, status):
        if status != 0:
            raise ERRORS.get(status, RuntimeError)(self.dll.kl_error().decode())

    def run(self, operator, args):
        self._check(self._functions[operator](ctypes.byref(args)))

    def workspace(self, operator, args):
        size = ctypes.c_size_t()
        self._check(self._functions[operator + "_workspace"](ctypes.byref(args), ctypes.byref(size)))
        return size.value

    def choice(self, operator, args):
        name = ctypes.c_char_p()
        self._check(self._functions[operator + "_choice"](ctypes.byref(args), ctypes.byref(name)))
        return name.value.decode()


_loaded, _lock = {}, threading.Lock()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def library(back_end):
    """The library "emulated" or "cuda"."""
    if back_end in _loaded:
        return _loaded[back_end]
    with _lock:
        if back_end not in _loaded:
            path = HERE / ("libkernel_ladder_emulated.so" if back_end == "emulated" else "libkernel_ladder.so")
            if not path.exists():
                raise RuntimeError(f"this wheel has no {path.name}: build it where nvcc is (./ladder python)")
            _loaded[back_end] = Library(path)
        return _loaded[back_end]
