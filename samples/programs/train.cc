/* SPDX-License-Identifier: Apache-2.0
 *
 * A C++ program with its recording: what is begun ends with its block, also by an exception.
 *
 *     c++ train.cc -ltbprof && ./a.out logdir && tensorboard --logdir logdir
 */
#include <tbprof/tbprof.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

static void spend(std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
}

static void layer(int i) {
    tbprof::Scope scope("layer_" + std::to_string(i), 2);
    scope.arg("units", int64_t(64) << i).arg("kind", std::string("dense"));
    spend(std::chrono::milliseconds(1));
    if (i == 7)
        throw std::runtime_error("the seventh layer is too much");
}

int main(int argc, char **argv) {
    tbprof::Session session(argc > 1 ? argv[1] : "logdir");
    if (session.status() != TBPROF_OK)
        std::fprintf(stderr, "%s; the program goes on without\n", tbprof_last_error());
    std::thread helper([] {
        tbprof_thread_name("helper");
        TBPROF_SCOPE("beside the steps");
        spend(std::chrono::milliseconds(20));
    });
    try {
        for (int i = 0; i < 10; i++) {
            tbprof::Step step("train", i);
            TBPROF_SCOPE("forward");
            layer(i);
        }
    } catch (const std::exception &e) {
        std::printf("%s\n", e.what());
    }
    helper.join();
    return 0; /* the session saves */
}
