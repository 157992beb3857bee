// A kernel with its mistake (BUGGED) and without: BUG(...) is the mistake, FIX(...) what mends it.
#pragma once
#ifdef BUGGED
#define BUG(...) __VA_ARGS__
#define FIX(...)
#else
#define BUG(...)
#define FIX(...) __VA_ARGS__
#endif
