"""A kernel's view of arrays from numpy, PyTorch and any DLPack library: pointer, shape, type,
device."""
import ctypes
import sys
from dataclasses import dataclass


@dataclass(slots=True)
class View:
    pointer: int
    shape: tuple
    dtype: str  # "float32", "bfloat16", "float16", "int64", ...
    device: tuple  # ("cpu", 0) or ("cuda", index)
    is_contiguous: bool
    keeps: object  # the object that owns the memory
    is_writable: bool = True


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype", _DLDataType), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _DLManagedTensorVersioned(ctypes.Structure):  # since DLPack 1.0
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64),
                ("tensor", _DLTensor)]


# kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged
_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


def _is_contiguous(shape, strides):
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return 0 in shape
        expected *= size
    return True


def _from_dlpack(array, stream):
    is_cuda = _DEVICES.get(array.__dlpack_device__()[0]) == "cuda"
    # 1 is the legacy default stream. The producer makes only the reading stream wait for its work.
    options = {"stream": stream or 1} if is_cuda else {}
    try:
        capsule = array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # before DLPack 1.0, which cannot mark an array as read-only
        capsule = array.__dlpack__(**options)
    pointer_of, name_of = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_GetName
    pointer_of.argtypes, pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    name_of.argtypes, name_of.restype = [ctypes.py_object], ctypes.c_char_p
    is_versioned = name_of(capsule) == b"dltensor_versioned"
    kept = (_DLManagedTensorVersioned if is_versioned else _DLTensor).from_address(pointer_of(capsule, name_of(capsule)))
    tensor = kept.tensor if is_versioned else kept
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
    kind = _CODES.get(tensor.dtype.code, f"code {tensor.dtype.code} ") + str(tensor.dtype.bits) + f"x{tensor.dtype.lanes}" * (tensor.dtype.lanes != 1)
    return View((tensor.data or 0) + tensor.byte_offset, shape, kind, (_DEVICES.get(tensor.device_type, f"DLPack {tensor.device_type}"),
                tensor.device_id), strides is None or _is_contiguous(shape, strides), (capsule, array),
                not (is_versioned and kept.flags & 3))  # read-only, or a copy


def is_torch(array):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _of_numpy(name, array, plain):
    """The array's type. Rejects arrays whose bytes a kernel would misread."""
    kind = type(array)
    if kind not in plain:
        raise TypeError(f"{name} is a {kind.__module__}.{kind.__name__}; allowed: a plain numpy array or memmap")
    if not array.dtype.isnative:
        raise TypeError(f"{name} is {array.dtype.str}, in another order of bytes; allowed: {name}.astype('{array.dtype.newbyteorder('=').str}')")
    return "bfloat16" if array.dtype.name == "uint16" else array.dtype.name


_torch_names = {}  # caches the strings of types and devices


def _torch_name(kind):
    if kind not in _torch_names:
        _torch_names[kind] = (kind.type, kind.index or 0) if hasattr(kind, "type") else str(kind).removeprefix("torch.")
    return _torch_names[kind]


def number(name, value):
    """An option, which must not need a gradient."""
    if getattr(value, "requires_grad", False):
        raise RuntimeError(f"{name} requires a gradient, and there is none for it; allowed: a number, {name}.item()")
    return value


def _pointer_of(name, tensor):
    """The tensor's pointer. Rejects tensors with properties that torch stores beside the numbers,
    because no kernel sees them."""
    torch = sys.modules["torch"]
    if tensor.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(f"{name} requires a gradient, which is not computed here; allowed: {name}.detach(), or kernel_ladder.torch's functions")
    if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
        raise RuntimeError(f"{name} has a tangent, of forward-mode derivatives; allowed: {name}.detach(), or backward()")
    if tensor.is_neg():
        raise ValueError(f"{name} is a negated view; allowed: {name}.resolve_neg()")
    try:
        return tensor.data_ptr()
    except RuntimeError as error:
        raise RuntimeError(f"{name} has no memory of its own, as in vmap and other transforms; allowed: plain tensors") from error


def view(name, array, stream=None):
    if is_torch(array):
        return View(_pointer_of(name, array), tuple(array.shape), _torch_name(array.dtype), _torch_name(array.device), array.is_contiguous(), array)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ndarray):
        return View(array.ctypes.data, array.shape, _of_numpy(name, array, (numpy.ndarray, numpy.memmap)), ("cpu", 0), array.flags.c_contiguous, array, array.flags.writeable)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array, stream)
    raise TypeError(f"{name} is a {type(array).__name__}; allowed: a numpy array, a torch tensor, or what has __dlpack__")


def current_stream(device):
    """torch's current stream on the GPU with this index, as a cudaStream_t."""
    import torch
    # without a Python object, which takes longer than a kernel's launch
    if hasattr(torch._C, "_cuda_getCurrentRawStream"):
        return torch._C._cuda_getCurrentRawStream(device)
    return torch.cuda.current_stream(device).cuda_stream


def empty(name, like, shape=None, dtype=None, has_gaps=False):
    """An array of the same kind as `like`, which the caller calls `name`, by default with its shape
    and type. has_gaps: kernels skip some rows, which are then 0."""
    make = "zeros" if has_gaps else "empty"
    if is_torch(like):
        import torch
        return getattr(torch, make)(like.shape if shape is None else shape, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device)
    import numpy
    if not isinstance(like, numpy.ndarray):
        raise TypeError(f"{name} is a {type(like).__name__}; allowed: a numpy array or a torch tensor, which outputs are made like. "
                        "kernel_ladder.run, which is given outputs, takes all that has __dlpack__")
    return getattr(numpy, make)(like.shape if shape is None else shape, dtype=dtype or like.dtype)
