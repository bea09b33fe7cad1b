# SPDX-License-Identifier: Apache-2.0
"""Puts the planes of one profile file beside those of another, on the other's clock.

The files are protobuf messages (XSpace): a file with the bytes of another one behind it has the planes of both. What
has to change are the names of our planes and the start times of their lines; events are not touched.

The wire format is read here, in Python, because nothing else at hand can: the capture library writes profiles and
knows of no reader, what does read them (the backend library) answers with pages and not with events, and a training
program need not have the protobuf package, still less the framework's own descriptions of these messages.
"""

PLANES, PLANE_NAME, PLANE_LINES, PLANE_STAT_METADATA, PLANE_STATS = 1, 2, 3, 5, 6
LINE_TIMESTAMP_NS = 3
ENVIRONMENT, HOST = b"Task Environment", b"/host:CPU"


def _varint(data, at):
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError(f"a number of more than ten bytes before byte {at}")


def _varint_bytes(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """(number, value, whole field as bytes) of each field; the value is an int, or the bytes of a message or text."""
    at, end, data = 0, len(data), memoryview(data)
    while at < end:
        begin = at
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        else:
            size, at = (8, at) if kind == 1 else (4, at) if kind == 5 else _varint(data, at)
            if kind not in (1, 2, 5) or at + size > end:
                raise ValueError(f"field {key >> 3} of kind {kind} at byte {begin}")
            value = data[at:at + size]
            at += size
        yield key >> 3, value, data[begin:at]


def _field(number, value):
    if isinstance(value, int):
        return _varint_bytes(number << 3) + _varint_bytes(value)
    return _varint_bytes(number << 3 | 2) + _varint_bytes(len(value)) + bytes(value)


def name_of(plane):
    return next((bytes(value) for number, value, _ in fields(plane) if number == PLANE_NAME), b"")


def start_time_ns(space):
    """When the session began, since 1970; None if the file does not say."""
    for number, plane, _ in fields(space):
        if number != PLANES or name_of(plane) != ENVIRONMENT:
            continue
        names, stats = {}, {}
        for part, value, _ in fields(plane):
            if part == PLANE_STAT_METADATA:
                entry = {n: v for n, v, _ in fields(value)}
                meta = {n: v for n, v, _ in fields(entry.get(2, b""))}
                names[entry.get(1, 0)] = bytes(meta.get(2, b""))
            elif part == PLANE_STATS:
                stat = {n: v for n, v, _ in fields(value)}
                stats[stat.get(1, 0)] = stat.get(3, stat.get(4))
        return next((stats[i] for i, name in names.items() if name == b"profile_start_time" and i in stats), None)
    return None


def _moved_line(line, shift_ns):
    """The same line, shift_ns later."""
    before = next((value for number, value, _ in fields(line) if number == LINE_TIMESTAMP_NS), 0)
    rest = b"".join(bytes(whole) for number, _, whole in fields(line) if number != LINE_TIMESTAMP_NS)
    return _field(LINE_TIMESTAMP_NS, (before + shift_ns) % 2**64) + rest


def _moved_plane(plane, name, shift_ns):
    out = [_field(PLANE_NAME, name)]
    for number, value, whole in fields(plane):
        if number == PLANE_LINES:
            out.append(_field(PLANE_LINES, _moved_line(value, shift_ns)))
        elif number != PLANE_NAME:
            out.append(bytes(whole))
    return b"".join(out)


def beside(theirs, ours):
    """Their file, with our host plane as a second one, called "/host:CPU tbprof", on their clock."""
    begins = start_time_ns(theirs), start_time_ns(ours)
    shift_ns = begins[1] - begins[0] if None not in begins else 0
    out = [bytes(theirs)]
    for number, value, _ in fields(ours):
        if number == PLANES and name_of(value) == HOST:
            out.append(_field(PLANES, _moved_plane(value, HOST + b" tbprof", shift_ns)))
    return b"".join(out)
