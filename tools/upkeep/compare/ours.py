"""The launchers of the chapters, through the shared library ladder_launchers (launchers.h), on PyTorch's tensors."""
import ctypes
from ctypes import c_char_p, c_float, c_int32, c_int64, c_void_p

POINTERS_OF_WKV = ("q", "k", "v", "log_w", "u", "initial_state", "o", "final_state", "d_o", "d_final_state", "dq", "dk",
                   "dv", "d_log_w", "du", "d_initial_state")


class Wkv(ctypes.Structure):
    _fields_ = [*((name, c_int64) for name in ("B", "T", "H", "K", "V")),
                *((name, c_void_p) for name in POINTERS_OF_WKV), ("scale", c_float)]


class LinearAttention(ctypes.Structure):
    _fields_ = [*((name, c_int64) for name in ("B", "T_q", "T_k", "H", "K", "V")),
                *((name, c_void_p) for name in ("q", "k", "v", "o")),
                *((name, c_int32) for name in ("causal", "elu_plus_one", "normalize")), ("eps", c_float)]


class Attention(ctypes.Structure):
    _fields_ = [*((name, c_int64) for name in ("B", "T_q", "T_k", "H_q", "H_kv", "D")),
                *((name, c_void_p) for name in ("q", "k", "v", "o", "lse", "d_o", "dq", "dk", "dv")),
                ("causal", c_int32), ("scale", c_float)]


class Refused(Exception):
    """What the library said."""


def structure(kind, values):
    """A Structure with these values; tensors give their pointers. A name it does not have is a mistake of the caller."""
    result = kind()
    names = {name for name, _ in kind._fields_}
    for name, value in values.items():
        if name not in names:
            raise KeyError(f"{kind.__name__} has no {name}")
        if value is not None:
            setattr(result, name, value.data_ptr() if hasattr(value, "data_ptr") else value)
    return result


class Library:
    def __init__(self, path):
        self._dll = ctypes.CDLL(str(path))
        for name in ("wkv", "attention"):
            function = getattr(self._dll, f"ladder_{name}")
            function.argtypes = (c_void_p, c_char_p, c_char_p, c_void_p)
        self._dll.ladder_linear_attention.argtypes = (c_void_p, c_char_p, c_void_p)
        self._dll.ladder_warmup.argtypes = (c_void_p, c_char_p, ctypes.POINTER(c_int64), ctypes.POINTER(c_void_p))
        self._dll.ladder_copy.argtypes = (c_void_p, c_void_p, c_int64)
        self._dll.ladder_read.argtypes = (c_void_p, c_int64)
        self._dll.ladder_find.argtypes = (c_char_p,)
        self._dll.ladder_find.restype = c_void_p
        self._dll.ladder_record_end.argtypes = (ctypes.POINTER(c_void_p),)
        self._dll.ladder_graph_launch.argtypes = (c_void_p, c_void_p)
        self._dll.ladder_graph_destroy.argtypes = (c_void_p,)
        for name in ("implementations", "wkv", "linear_attention", "attention", "warmup", "copy", "read", "record_begin", "record_end",
                     "graph_launch", "graph_destroy"):
            getattr(self._dll, f"ladder_{name}").restype = c_char_p
        self.names = self._dll.ladder_implementations().decode().split()

    def call(self, implementation, operator, precision, values):
        """A function that launches the implementation on these arrays, which it keeps alive. It raises Refused."""
        handle = self._dll.ladder_find(implementation.encode())
        if handle is None:
            raise Refused(f"{implementation} is not in the library; it has: {', '.join(self.names)}")
        if operator == "linear_attention":
            arguments = structure(LinearAttention, values)
            first = (handle, precision.encode())
            launch = self._dll.ladder_linear_attention
        elif operator.startswith("attention"):
            arguments = structure(Attention, values)
            first = (handle, operator.encode(), precision.encode())
            launch = self._dll.ladder_attention
        else:
            arguments = structure(Wkv, values)
            first = (handle, operator.encode(), precision.encode())
            launch = self._dll.ladder_wkv
        pointer = ctypes.byref(arguments)

        def run(kept=(arguments, values)):
            said = launch(*first, pointer)
            if said is not None:
                raise Refused(said.decode())

        return run

    def call_warmup(self, implementation, operator, sizes, arrays):
        """The same for an operator of chapter 00: sizes and tensors (None: null) in the order of its lists."""
        handle = self._dll.ladder_find(implementation.encode())
        if handle is None:
            raise Refused(f"{implementation} is not in the library; it has: {', '.join(self.names)}")
        numbers = (c_int64 * len(sizes))(*sizes)
        pointers = (c_void_p * len(arrays))(*(None if array is None else array.data_ptr() for array in arrays))

        def run(kept=arrays):
            self._check(self._dll.ladder_warmup(handle, operator.encode(), numbers, pointers))

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
        """A graph of these calls. They must launch into the thread's own default stream, as the launchers do."""
        self._check(self._dll.ladder_record_begin())
        refusal = None
        try:
            for call in calls:
                call()
        except Exception as error:  # the recording must be ended all the same
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
