"""What numpy's, PyTorch's and any DLPack library's arrays are to a kernel: a pointer, a shape, a type, a device."""
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
    keeps: object  # what the memory belongs to


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype", _DLDataType), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}  # kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged
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
    # 1 is the legacy default stream; the producer makes its work wait for nothing else than the stream that reads it.
    capsule = array.__dlpack__(stream=stream or 1) if is_cuda else array.__dlpack__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.argtypes, pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    tensor = _DLTensor.from_address(pointer_of(capsule, b"dltensor"))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
    kind = _CODES.get(tensor.dtype.code, f"code {tensor.dtype.code} ") + str(tensor.dtype.bits)
    return View((tensor.data or 0) + tensor.byte_offset, shape, kind, (_DEVICES.get(tensor.device_type, f"DLPack {tensor.device_type}"),
                tensor.device_id), strides is None or _is_contiguous(shape, strides), (capsule, array))


def is_torch(array):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


_torch_names = {}  # of types and devices, which are made again and again


def _torch_name(kind):
    if kind not in _torch_names:
        _torch_names[kind] = (kind.type, kind.index or 0) if hasattr(kind, "type") else str(kind).removeprefix("torch.")
    return _torch_names[kind]


def number(name, value):
    """An option, which has no gradient."""
    if getattr(value, "requires_grad", False):
        raise RuntimeError(f"{name} requires a gradient, and there is none for it; allowed: a number, {name}.item()")
    return value


def _pointer_of(name, tensor):
    """Refuses what torch keeps beside a tensor's numbers, and no kernel sees."""
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
    if hasattr(array, "__array_interface__"):  # numpy's, which may not be written to, or hold uint16 that are bfloat16
        dtype = "bfloat16" if array.dtype.name in ("uint16", "bfloat16") else array.dtype.name
        return View(array.ctypes.data, array.shape, dtype, ("cpu", 0), array.flags.c_contiguous, array)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array, stream)
    raise TypeError(f"{name} is a {type(array).__name__}; allowed: a numpy array, a torch tensor, or what has __dlpack__")


def current_stream(device):
    """torch's, of a GPU by its number: a cudaStream_t."""
    import torch
    if hasattr(torch._C, "_cuda_getCurrentRawStream"):  # without an object around it, which takes longer than a kernel's launch
        return torch._C._cuda_getCurrentRawStream(device)
    return torch.cuda.current_stream(device).cuda_stream


def empty(like, shape, dtype):
    """An array of the kind that `like` is. dtype: None is `like`'s own."""
    if is_torch(like):
        import torch
        return torch.empty(shape, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device)
    import numpy
    if not isinstance(like, numpy.ndarray):
        raise TypeError(f"no array can be made like a {type(like).__name__}: give all of them to kernel_ladder.run, outputs too")
    return numpy.empty(shape, dtype=dtype or like.dtype)
