// SPDX-License-Identifier: Apache-2.0
//
// The peer of the benchmark: a C++ program that only parses an XSpace with libprotobuf into an
// arena, and counts its events so that nothing is optimised away.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <google/protobuf/arena.h>

#include "schemas/xplane.pb.h"

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fputs("usage: peer_parse FILE.xplane.pb\n", stderr);
        return 2;
    }
    int fd = open(argv[1], O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        std::perror(argv[1]);
        return 2;
    }
    void *bytes = mmap(nullptr, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    google::protobuf::Arena arena;
    auto *space = google::protobuf::Arena::CreateMessage<tbp::XSpace>(&arena);
    if (bytes == MAP_FAILED || !space->ParseFromArray(bytes, static_cast<int>(st.st_size))) {
        std::fputs("not parsed\n", stderr);
        return 1;
    }
    long events = 0;
    for (const auto &plane : space->planes())
        for (const auto &line : plane.lines())
            events += line.events_size();
    std::printf("%ld\n", events);
    return 0;
}
