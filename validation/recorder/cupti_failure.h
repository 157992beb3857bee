/* What counters.cpp and samples.cpp share: a CUPTI call that fails ends the function that makes it. */
#include <cupti_result.h>
#include <stdio.h>

static char failure[256]; /* the call, its status and what that means */

#define TRY(call)                                                                   \
    do {                                                                            \
        CUptiResult status_ = (call);                                               \
        if (status_ != CUPTI_SUCCESS) {                                             \
            const char *text_ = "";                                                 \
            cuptiGetResultString(status_, &text_);                                  \
            snprintf(failure, sizeof failure, "%.120s: %d %s", #call, status_, text_); \
            return -(int)status_;                                                   \
        }                                                                           \
    } while (0)
