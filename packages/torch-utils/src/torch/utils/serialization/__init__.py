"""Files of Lua Torch."""

from .read_lua_file import LuaFunction, T7Reader, T7ReaderException, TorchObject, load_lua

__all__ = ["LuaFunction", "T7Reader", "T7ReaderException", "TorchObject", "load_lua"]
