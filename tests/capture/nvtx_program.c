/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that annotates itself with NVTX, as tests/capture/test_preload.py expects it. Built
 * twice where the CUDA Toolkit is installed: with NVTX's own header, which also checks our numbers
 * of its tables, and with a stand-in that does what the header does.
 *
 *     NVTX_INJECTION64_PATH=libtbprof.so nvtx_program LOGDIR
 */
#include "capture/nvtx_abi.h"
#include "capture/tbprof.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
_Static_assert((int)NVTX_CBID_CORE_NameOsThreadW == (int)TBP_NVTX_THREAD_W &&
                   (int)NVTX_CBID_CORE_RangePop == (int)TBP_NVTX_POP &&
                   (int)NVTX_CBID_CORE2_DomainDestroy == (int)TBP_NVTX_DOMAIN_DESTROY &&
                   (int)NVTX_CB_MODULE_CORE2 == (int)TBP_NVTX_CORE2 &&
                   sizeof(nvtxEventAttributes_t) == sizeof(struct tbp_nvtx_event) &&
                   offsetof(nvtxEventAttributes_t, message) ==
                       offsetof(struct tbp_nvtx_event, message) &&
                   (int)NVTX_PAYLOAD_TYPE_FLOAT == (int)TBP_NVTX_FLOAT,
               "NVTX's own numbers");
typedef nvtxEventAttributes_t event;
static event registered_event(nvtxStringHandle_t text) {
    event e = {0};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.category = 3;
    e.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    e.payload.llValue = -7;
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = text;
    return e;
}
#else
#include <dlfcn.h>
#include <stdlib.h>
#include <wchar.h>

static tbp_nvtx_fn *core[16], *core2[16], **core_table[16], **core2_table[16];

static int module_table(int32_t module, tbp_nvtx_fn ****table, unsigned *n) {
    *table = module == TBP_NVTX_CORE ? core_table : module == TBP_NVTX_CORE2 ? core2_table : NULL;
    *n = 16;
    return *table != NULL;
}
static const void *get_export(uint32_t id) {
    static const struct tbp_nvtx_callbacks callbacks = {sizeof callbacks, module_table};
    return id == TBP_NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}
__attribute__((constructor)) static void load_tool(void) {
    for (int i = 0; i < 16; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*init)(tbp_nvtx_get_export *) =
        tool ? (int (*)(tbp_nvtx_get_export *))dlsym(tool, "InitializeInjectionNvtx2") : NULL;
    if (!init || !init(get_export)) {
        fputs("no tool\n", stderr);
        exit(2);
    }
}
typedef struct tbp_nvtx_event event;
typedef uint64_t nvtxRangeId_t;
typedef void *nvtxDomainHandle_t, *nvtxStringHandle_t;
#define nvtxRangePushA(s)     ((int (*)(const char *))core[TBP_NVTX_PUSH_A])(s)
#define nvtxRangePushW(s)     ((int (*)(const wchar_t *))core[TBP_NVTX_PUSH_W])(s)
#define nvtxRangePop()        ((int (*)(void))core[TBP_NVTX_POP])()
#define nvtxRangeStartA(s)    ((uint64_t(*)(const char *))core[TBP_NVTX_START_A])(s)
#define nvtxRangeEnd(id)      ((void (*)(uint64_t))core[TBP_NVTX_END])(id)
#define nvtxMarkA(s)          ((void (*)(const char *))core[TBP_NVTX_MARK_A])(s)
#define nvtxDomainCreateA(s)  ((void *(*)(const char *))core2[TBP_NVTX_DOMAIN_CREATE_A])(s)
#define nvtxDomainRangePop(d) ((int (*)(void *))core2[TBP_NVTX_DOMAIN_POP])(d)
#define nvtxDomainRangePushEx(d, e)                                                                \
    ((int (*)(void *, const event *))core2[TBP_NVTX_DOMAIN_PUSH_EX])(d, e)
#define nvtxDomainRegisterStringA(d, s)                                                            \
    ((void *(*)(void *, const char *))core2[TBP_NVTX_REGISTER_A])(d, s)
#define nvtxDomainNameCategoryA(d, id, s)                                                          \
    ((void (*)(void *, uint32_t, const char *))core2[TBP_NVTX_DOMAIN_CATEGORY_A])(d, id, s)
static event registered_event(nvtxStringHandle_t text) {
    return (event){.version = 3,
                   .size = sizeof(event),
                   .category = 3,
                   .payload_type = TBP_NVTX_I64,
                   .payload.i64 = -7,
                   .message_type = TBP_NVTX_REGISTERED,
                   .message = text};
}
#endif

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    nvtxRangePushA("open before the session");
    if (tbprof_start(argv[1], NULL) != TBPROF_OK) {
        fprintf(stderr, "%s\n", tbprof_last_error());
        return 2;
    }
    nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
    event e = registered_event(nvtxDomainRegisterStringA(domain, "registered"));
    nvtxDomainNameCategoryA(domain, 3, "io");
    nvtxRangePushA("outer");
    nvtxDomainRangePushEx(domain, &e);
    nvtxRangePop(); /* of the default domain: "outer", across the range of "lib" */
    nvtxDomainRangePop(domain);
    nvtxRangeId_t id = nvtxRangeStartA("across");
    nvtxMarkA("a mark");
    nvtxRangeEnd(id);
    nvtxRangePushW(L"wide \u00e4");
    nvtxRangePop();
    nvtxRangePop(); /* what was open before */
    return tbprof_stop(1) == TBPROF_OK ? 0 : 1;
}
