"""ONNX Runtime for tests and benches: a small binding over the C API of libonnxruntime.so.

The C API is one table of functions whose order never changes (new ones go to the end), so ctypes needs
no headers and no Python package. The library: $QBC_ORT_LIB, or the copy that `./setup --test` puts
below .cache/ort.

  session = Session("model.onnx", threads=2)
  outputs = session.run({"input": array})        # {name: array}
"""
import ctypes
import glob
import os

import numpy as np

API_VERSION = 17
CPU_ARENA = 1
LOG_ERROR = 3

# Positions in the function table.
GET_ERROR_MESSAGE = 2
CREATE_ENV = 3
CREATE_SESSION = 7
RUN = 9
CREATE_SESSION_OPTIONS = 10
SET_GRAPH_OPTIMIZATION_LEVEL = 23
SET_INTRA_OP_THREADS = 24
SESSION_INPUT_COUNT = 30
SESSION_OUTPUT_COUNT = 31
SESSION_INPUT_TYPE = 33
SESSION_INPUT_NAME = 36
SESSION_OUTPUT_NAME = 37
CREATE_TENSOR_WITH_DATA = 49
GET_TENSOR_DATA = 51
CAST_TO_TENSOR_INFO = 55
ELEMENT_TYPE = 60
DIMENSIONS_COUNT = 61
DIMENSIONS = 62
TENSOR_TYPE_AND_SHAPE = 65
CREATE_CPU_MEMORY = 69
DEFAULT_ALLOCATOR = 78
RELEASE_STATUS = 93
RELEASE_SESSION = 95
RELEASE_VALUE = 96
RELEASE_TYPE_INFO = 98
RELEASE_TENSOR_INFO = 99
RELEASE_SESSION_OPTIONS = 100
ADD_SESSION_CONFIG_ENTRY = 130

# Numbers of onnx.TensorProto.DataType.
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
          9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}
NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}
OPTIMIZATION = {"none": 0, "basic": 1, "extended": 2, "all": 99}


class OrtError(RuntimeError):
    """What ONNX Runtime answered."""


def library_path():
    """The library's path, or None when it is not installed."""
    if os.environ.get("QBC_ORT_LIB"):
        return os.environ["QBC_ORT_LIB"]
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".cache", "ort")
    found = sorted(glob.glob(os.path.join(root, "**", "linux", "x64", "libonnxruntime.so.1"),
                             recursive=True))
    return found[0] if found else None


class _Base(ctypes.Structure):
    _fields_ = [("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)),
                ("get_version", ctypes.CFUNCTYPE(ctypes.c_char_p))]


class Runtime:
    """The loaded library with its environment."""

    def __init__(self, path=None):
        path = path or library_path()
        if path is None:
            raise OrtError("no ONNX Runtime: set QBC_ORT_LIB or run ./setup --test")
        library = ctypes.CDLL(path)
        library.OrtGetApiBase.restype = ctypes.POINTER(_Base)
        base = library.OrtGetApiBase().contents
        self.version = base.get_version().decode()
        self._table = ctypes.cast(base.get_api(API_VERSION), ctypes.POINTER(ctypes.c_void_p))
        self.env = ctypes.c_void_p()
        self.call(CREATE_ENV, ctypes.c_int(LOG_ERROR), ctypes.c_char_p(b"tests"),
                  ctypes.byref(self.env))
        self.allocator = ctypes.c_void_p()
        self.call(DEFAULT_ALLOCATOR, ctypes.byref(self.allocator))
        self.memory = ctypes.c_void_p()
        self.call(CREATE_CPU_MEMORY, ctypes.c_int(CPU_ARENA), ctypes.c_int(0),
                  ctypes.byref(self.memory))

    def _function(self, index, result):
        return ctypes.CFUNCTYPE(result)(self._table[index])

    def call(self, index, *arguments):
        """Calls a function that returns a status. Raises OrtError."""
        function = self._function(index, ctypes.c_void_p)
        function.argtypes = None
        status = function(*arguments)
        if status:
            message = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(
                self._table[GET_ERROR_MESSAGE])(status)
            text = message.decode(errors="replace")
            self.release(RELEASE_STATUS, ctypes.c_void_p(status))
            raise OrtError(text)

    def release(self, index, handle):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._table[index])(handle)

    def tensor(self, array):
        """A value that borrows the array's memory."""
        value = ctypes.c_void_p()
        shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        self.call(CREATE_TENSOR_WITH_DATA, self.memory, ctypes.c_void_p(array.ctypes.data),
                  ctypes.c_size_t(array.nbytes), shape, ctypes.c_size_t(array.ndim),
                  ctypes.c_int(NUMBERS[array.dtype]), ctypes.byref(value))
        return value

    def dtype_and_shape(self, info):
        number = ctypes.c_int()
        self.call(ELEMENT_TYPE, info, ctypes.byref(number))
        rank = ctypes.c_size_t()
        self.call(DIMENSIONS_COUNT, info, ctypes.byref(rank))
        dims = (ctypes.c_int64 * max(rank.value, 1))()
        self.call(DIMENSIONS, info, dims, rank)
        return DTYPES[number.value], list(dims[:rank.value])

    def array(self, value):
        """A copy of a tensor value."""
        info = ctypes.c_void_p()
        self.call(TENSOR_TYPE_AND_SHAPE, value, ctypes.byref(info))
        dtype, shape = self.dtype_and_shape(info)
        self.release(RELEASE_TENSOR_INFO, info)
        data = ctypes.c_void_p()
        self.call(GET_TENSOR_DATA, value, ctypes.byref(data))
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        raw = ctypes.string_at(data, size) if size else b""
        return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()


class Session:
    """One model, ready to run. `inputs` lists (name, dtype, shape); open dimensions are -1.

    `exact_products`: on processors with AVX2 and without VNNI, ONNX Runtime turns a quantized product into
    unsigned times signed bytes and adds pairs of them in 16 bits, which saturate: one result in a hundred is
    off by many steps. With its option session.x64quantprecision it multiplies unsigned by unsigned, exactly.
    """

    def __init__(self, path, threads=1, optimization="all", runtime=None, exact_products=True):
        self._runtime = runtime or Runtime()
        call = self._runtime.call
        options = ctypes.c_void_p()
        call(CREATE_SESSION_OPTIONS, ctypes.byref(options))
        call(SET_GRAPH_OPTIMIZATION_LEVEL, options, ctypes.c_int(OPTIMIZATION[optimization]))
        call(SET_INTRA_OP_THREADS, options, ctypes.c_int(threads))
        if exact_products:
            call(ADD_SESSION_CONFIG_ENTRY, options, ctypes.c_char_p(b"session.x64quantprecision"),
                 ctypes.c_char_p(b"1"))
        self._session = ctypes.c_void_p()
        call(CREATE_SESSION, self._runtime.env, ctypes.c_char_p(os.fsencode(path)), options,
             ctypes.byref(self._session))
        self._runtime.release(RELEASE_SESSION_OPTIONS, options)
        self.outputs = self._names(SESSION_OUTPUT_COUNT, SESSION_OUTPUT_NAME)
        names = self._names(SESSION_INPUT_COUNT, SESSION_INPUT_NAME)
        self.inputs = [(name,) + self._input_type(i) for i, name in enumerate(names)]

    def _names(self, count_index, name_index):
        count = ctypes.c_size_t()
        self._runtime.call(count_index, self._session, ctypes.byref(count))
        names = []
        for i in range(count.value):
            name = ctypes.c_char_p()
            self._runtime.call(name_index, self._session, ctypes.c_size_t(i), self._runtime.allocator,
                               ctypes.byref(name))
            names.append(name.value.decode())
        return names

    def _input_type(self, index):
        info = ctypes.c_void_p()
        self._runtime.call(SESSION_INPUT_TYPE, self._session, ctypes.c_size_t(index),
                           ctypes.byref(info))
        tensor_info = ctypes.c_void_p()
        self._runtime.call(CAST_TO_TENSOR_INFO, info, ctypes.byref(tensor_info))
        result = self._runtime.dtype_and_shape(tensor_info)
        self._runtime.release(RELEASE_TYPE_INFO, info)
        return result

    def run(self, inputs):
        arrays = [np.ascontiguousarray(array) for array in inputs.values()]
        values = [self._runtime.tensor(array) for array in arrays]
        names = (ctypes.c_char_p * len(values))(*[name.encode() for name in inputs])
        handles = (ctypes.c_void_p * len(values))(*[value.value for value in values])
        output_names = (ctypes.c_char_p * len(self.outputs))(*[n.encode() for n in self.outputs])
        results = (ctypes.c_void_p * len(self.outputs))()
        try:
            self._runtime.call(RUN, self._session, None, names, handles, ctypes.c_size_t(len(values)),
                               output_names, ctypes.c_size_t(len(self.outputs)), results)
            return {name: self._runtime.array(ctypes.c_void_p(result))
                    for name, result in zip(self.outputs, results)}
        finally:
            for handle in values + [ctypes.c_void_p(r) for r in results if r]:
                self._runtime.release(RELEASE_VALUE, handle)

    def close(self):
        self._runtime.release(RELEASE_SESSION, self._session)
        self._session = None
