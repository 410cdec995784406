"""Our kernels on PyTorch's tensors: those of the library through its C interface, chapter 00's and
the stopwatch's graphs through ladder_launchers (launchers.cu)."""
import ctypes
import sys
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_void_p

from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "library/python"))
from kernel_ladder import _library as interface

PER_THREAD = 2  # cudaStreamPerThread, which the launchers use and the recorder captures
# names for which the rules choose a kernel
RULES = {"best_wkv", "best_gla", "best_linear_attention", "best_attention", "best_attention_backward"}


class Value(ctypes.Structure):
    """LadderValue of launchers.cu: a named number for a field, or a named pointer for an array."""
    _fields_ = [("name", c_char_p), ("number", c_double), ("array", c_void_p)]


ARGUMENTS = {"implementations": (), "prepare": (c_char_p, c_char_p, c_char_p, POINTER(Value), c_int32, POINTER(c_void_p)), "call": (c_void_p,),
             "copy": (c_void_p, c_void_p, c_int64), "read": (c_void_p, c_int64), "record_begin": (), "record_end": (POINTER(c_void_p),),
             "graph_launch": (c_void_p, c_void_p), "graph_destroy": (c_void_p,)}


class Refused(Exception):
    """An error of the library."""


def value_of(name, value):
    """A Value for a number, a tensor, or None, which is a null pointer."""
    if value is None or hasattr(value, "data_ptr"):
        return Value(name.encode(), 0, None if value is None else value.data_ptr())
    return Value(name.encode(), value, None)


class Kernels:
    """The library's kernels, from libkernel_ladder.so or the emulated library."""

    def __init__(self, path):
        self._library = interface.Library(path)
        self.names = [*self._library.kernels, *RULES]

    def call(self, implementation, operator, precision, values):
        """See Library.call."""
        known = interface.OPERATORS[operator]
        args = known.usual()
        args.storage, args.stream = interface.STORAGES[precision], PER_THREAD
        args.choice = None if implementation in RULES else implementation.encode()
        for name, value in values.items():
            if name not in known.by_name or name in interface.CONTROL:
                raise Refused(f"{operator} has no {name}")
            is_number = not known.by_name[name].is_array
            setattr(args, name, value if is_number else None if value is None else value.data_ptr())
        self._said(self._library.choice, operator, args)
        kept = [values]
        needed = self._said(self._library.workspace, operator, args)
        if needed:
            q = values["q"]
            kept.append(q.new_empty(needed, dtype=q.new_empty(0).byte().dtype))
            args.workspace, args.workspace_bytes = kept[1].data_ptr(), needed

        def run(kept=kept):
            self._said(self._library.run, operator, args)

        return run

    @staticmethod
    def _said(function, *words):
        try:
            return function(*words)
        except (ValueError, NotImplementedError, MemoryError, RuntimeError) as error:
            raise Refused(str(error)) from None


class Library:
    def __init__(self, path, kernels):
        self._kernels = Kernels(kernels)
        self._dll = ctypes.CDLL(str(path))
        for name, arguments in ARGUMENTS.items():
            function = getattr(self._dll, f"ladder_{name}")
            function.argtypes, function.restype = arguments, c_char_p
        self.names = [*self._dll.ladder_implementations().decode().split(), *self._kernels.names]

    def call(self, implementation, operator, precision, values):
        """A function that launches the implementation on these numbers and tensors, which it keeps
        alive. Raises Refused if there is none for them; so may the function."""
        if operator in interface.OPERATORS:
            return self._kernels.call(implementation, operator, precision, values)
        given = (Value * len(values))(*(value_of(name, value) for name, value in values.items()))
        call = c_void_p()
        self._check(self._dll.ladder_prepare(implementation.encode(), operator.encode(), precision.encode(), given, len(given), ctypes.byref(call)))

        def run(kept=values):
            self._check(self._dll.ladder_call(call))

        return run

    def copy(self, source, target):
        """A function that copies a tensor."""
        return lambda: self._check(self._dll.ladder_copy(source.data_ptr(), target.data_ptr(), source.nbytes))

    def read(self, tensor):
        """A function that reads the tensor and writes nothing."""
        return lambda: self._check(self._dll.ladder_read(tensor.data_ptr(), tensor.nbytes))

    def _check(self, said):
        if said is not None:
            raise Refused(said.decode())

    def record(self, calls):
        """A graph of these calls. They must launch into the thread's own default stream, like the
        launchers."""
        self._check(self._dll.ladder_record_begin())
        refusal = None
        try:
            for call in calls:
                call()
        except Exception as error:  # the recording must end in any case
            refusal = error
        graph = c_void_p()
        said = self._dll.ladder_record_end(ctypes.byref(graph))
        if refusal is not None:
            raise refusal
        self._check(said)
        return Graph(self, graph)


class Graph:
    def __init__(self, library, graph):
        self._library, self._graph = library, graph

    def launch(self, stream):
        self._library._check(self._library._dll.ladder_graph_launch(self._graph, stream))

    def destroy(self):
        self._library._check(self._library._dll.ladder_graph_destroy(self._graph))
