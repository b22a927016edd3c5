"""The C header that maps a library's file of weights."""

from __future__ import annotations

from .interface import Interface


def weights_header(interface: Interface) -> str:
    """`model_weights.h`: `model_map_weights(path)` maps the file for as long as the process lives, and sets it."""
    name, upper = interface.name, interface.upper
    return f"""/* The file of weights of {name}, mapped into memory: for POSIX and Windows. */
#ifndef {upper}_WEIGHTS_H
#define {upper}_WEIGHTS_H

#include "{name}.h"

#if defined(_WIN32)
#include <windows.h>

static inline int {name}_map_weights(const char *path)
{{
    const void *start = NULL;
    LARGE_INTEGER size;
    HANDLE mapping;
    HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return {upper}_UNREADABLE_WEIGHTS;
    if (!GetFileSizeEx(file, &size)) {{
        CloseHandle(file);
        return {upper}_UNREADABLE_WEIGHTS;
    }}
    if ((uint64_t)size.QuadPart != {upper}_WEIGHTS_FILE_BYTES) {{
        CloseHandle(file);
        return {upper}_WRONG_WEIGHTS;
    }}
    mapping = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
    CloseHandle(file);
    if (mapping != NULL) {{
        start = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(mapping);
    }}
    return start == NULL ? {upper}_UNREADABLE_WEIGHTS : {name}_set_weights(start, {upper}_WEIGHTS_FILE_BYTES);
}}
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int {name}_map_weights(const char *path)
{{
    struct stat status;
    void *start;
    int code;
    const int file = open(path, O_RDONLY);
    if (file < 0)
        return {upper}_UNREADABLE_WEIGHTS;
    if (fstat(file, &status) != 0) {{
        close(file);
        return {upper}_UNREADABLE_WEIGHTS;
    }}
    if ((uint64_t)status.st_size != {upper}_WEIGHTS_FILE_BYTES) {{
        close(file);
        return {upper}_WRONG_WEIGHTS;
    }}
    start = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (start == MAP_FAILED)
        return {upper}_UNREADABLE_WEIGHTS;
    code = {name}_set_weights(start, (uint64_t)status.st_size);
    if (code != {upper}_OK)
        munmap(start, (size_t)status.st_size);
    return code;
}}
#endif
#endif
"""
