"""The C header that maps a library's file of weights."""

from __future__ import annotations

from .interface import Interface
from .templates import filled

_HEADER = """/* The file of weights of NAME, mapped into memory: for POSIX and Windows. */
#ifndef UPPER_WEIGHTS_H
#define UPPER_WEIGHTS_H

#include "NAME.h"

#if defined(_WIN32)
#include <windows.h>

static inline int NAME_map_weights(const char *path)
{
    const void *start = NULL;
    LARGE_INTEGER size;
    HANDLE mapping;
    HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return UPPER_UNREADABLE_WEIGHTS;
    if (!GetFileSizeEx(file, &size)) {
        CloseHandle(file);
        return UPPER_UNREADABLE_WEIGHTS;
    }
    if ((uint64_t)size.QuadPart != UPPER_WEIGHTS_FILE_BYTES) {
        CloseHandle(file);
        return UPPER_WRONG_WEIGHTS;
    }
    mapping = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
    CloseHandle(file);
    if (mapping != NULL) {
        start = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(mapping);
    }
    return start == NULL ? UPPER_UNREADABLE_WEIGHTS : NAME_set_weights(start, UPPER_WEIGHTS_FILE_BYTES);
}
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int NAME_map_weights(const char *path)
{
    struct stat status;
    void *start;
    int code;
    const int file = open(path, O_RDONLY);
    if (file < 0)
        return UPPER_UNREADABLE_WEIGHTS;
    if (fstat(file, &status) != 0) {
        close(file);
        return UPPER_UNREADABLE_WEIGHTS;
    }
    if ((uint64_t)status.st_size != UPPER_WEIGHTS_FILE_BYTES) {
        close(file);
        return UPPER_WRONG_WEIGHTS;
    }
    start = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (start == MAP_FAILED)
        return UPPER_UNREADABLE_WEIGHTS;
    code = NAME_set_weights(start, (uint64_t)status.st_size);
    if (code != UPPER_OK)
        munmap(start, (size_t)status.st_size);
    return code;
}
#endif
#endif
"""


def weights_header(interface: Interface) -> str:
    """`model_weights.h`: `model_map_weights(path)` maps the file for as long as the process lives, and sets it."""
    return filled(_HEADER, NAME=interface.name, UPPER=interface.upper)
