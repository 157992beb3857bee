/* The part of CUDA's libraries that runs in the program: it sends calls to the engine and does what
   the engine asks for while a call is under way. It holds no state of CUDA's beyond what must be
   known before the engine is first needed: what the program registered, and each thread's last error.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define NOT_INITIALIZED 3
#define NO_DEVICE 100
#define MOST_REGIONS 20
#define PAGE 4096ul
#define LOOKING_NS 1000000u

enum { HELLO = -1, REGISTRATIONS = -2 };
enum operation { RETURN, READ, TEXT, WRITE, COPY, CALL, MAP, UNMAP, PRINT, SHARE, UNSHARE };

struct request { int32_t slot; uint32_t words; uint64_t host_ns, bytes; };
struct answer { uint32_t operation; int32_t status; uint64_t a, b, c, d, e, f; };
struct region { uint64_t first, span, alias; int file; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t nonce, started_ns;
static atomic_int state; /* 0: not yet, 1: connected, 2: forked off a connected one, 3: no engine */
static struct region regions[MOST_REGIONS];
static int n_regions;
static char *registered;
static atomic_size_t n_registered, n_sent;
static size_t room;
static int anchor = -1; /* tells the engine that the process lives, though a thread has ended */
static __thread int connection = -1;
static __thread uint64_t returned_ns;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void closed(void *value) { close((int)(intptr_t)value - 1); }
static void in_child(void) {
    if (connection >= 0) close(connection);
    if (anchor >= 0) close(anchor);
    connection = anchor = -1;
    if (atomic_load(&state) == 1) atomic_store(&state, 2); /* as CUDA: of no use in a child */
    pthread_mutex_init(&lock, NULL);
}
static void prepare(void) {
    pthread_key_create(&key, closed);
    pthread_atfork(NULL, NULL, in_child);
    started_ns = now();
}

static int lost(void) {
    fprintf(stderr, "warplens: the simulated GPU's engine has gone\n");
    _exit(1);
}
static void send_all(const void *data, size_t n) {
    const char *at = data;
    while (n) {
        ssize_t done = send(connection, at, n, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) lost();
        at += done, n -= (size_t)done;
    }
}
/* Short calls are over before a sleeping processor has woken up, so the first microseconds of a wait
   are spent looking, as NVIDIA's runtime waits; another thread that is ready goes first. */
static ssize_t look(char *at, size_t n) {
    static int processors;
    if (!processors) processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 2) return -1;
    for (uint64_t until = now() + LOOKING_NS; now() < until; sched_yield()) {
        ssize_t done = recv(connection, at, n, MSG_DONTWAIT);
        if (done >= 0 || (errno != EAGAIN && errno != EINTR)) return done;
    }
    return -1;
}
static void receive_all(void *data, size_t n) {
    char *at = data;
    while (n) {
        ssize_t done = look(at, n);
        if (done < 0) done = recv(connection, at, n, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) lost();
        at += done, n -= (size_t)done;
    }
}
static void done(uint64_t value) { send_all(&value, sizeof value); }

/* --- the connection ------------------------------------------------------------------------ */

static int connected(void) {
    const char *name = getenv("WARPLENS_ENGINE");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (!name || strlen(name) + 2 > sizeof address.sun_path) return -1;
    memcpy(address.sun_path + 1, name, strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&address, length) ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != getuid()) {
        close(fd);
        return -1;
    }
    return fd;
}

static void take_regions(void) {
    struct { uint64_t count, first[MOST_REGIONS], span[MOST_REGIONS]; } told;
    char control[CMSG_SPACE(sizeof(int) * MOST_REGIONS)];
    struct iovec part = {&told, sizeof told};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    while ((got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL)) < 0)
        if (errno != EINTR) lost();
    if ((size_t)got != sizeof told) lost();
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_type != SCM_RIGHTS) lost();
    int files[MOST_REGIONS];
    memcpy(files, CMSG_DATA(head), sizeof(int) * told.count);
    for (uint64_t i = 0; i < told.count; i++) {
        struct region *r = &regions[i];
        r->first = told.first[i], r->span = told.span[i], r->file = files[i];
        void *alias = mmap(NULL, r->span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                           r->file, 0);
        void *kept = mmap((void *)r->first, r->span, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (alias == MAP_FAILED || kept != (void *)r->first) {
            fprintf(stderr, "warplens: the simulated GPU's memory cannot be mapped\n");
            _exit(1);
        }
        madvise(alias, r->span, MADV_DONTFORK);
        madvise(kept, r->span, MADV_DONTFORK);
        r->alias = (uint64_t)alias;
    }
    n_regions = (int)told.count;
}

static int ready(void) {
    if (connection >= 0) return 0;
    pthread_once(&once, prepare);
    if (atomic_load(&state) == 2) return NOT_INITIALIZED;
    pthread_mutex_lock(&lock);
    connection = connected();
    if (connection < 0) {
        static int told;
        if (!told++)
            fprintf(stderr, "warplens: this is the runtime of a simulated GPU; "
                            "start the program with `warplens run`\n");
        pthread_mutex_unlock(&lock);
        return NO_DEVICE;
    }
    int first = !nonce;
    while (!nonce)
        if (syscall(SYS_getrandom, &nonce, sizeof nonce, 0) != sizeof nonce) nonce = now();
    struct { struct request head; uint64_t nonce, pid, is_first; } hello = {
        {HELLO, 3, 0, 0}, nonce, (uint64_t)getpid(), (uint64_t)first};
    send_all(&hello, sizeof hello);
    if (first) {
        take_regions();
        int own = connection;
        hello.is_first = 0;
        anchor = connection = connected();
        if (anchor >= 0) send_all(&hello, sizeof hello);
        connection = own;
    }
    pthread_setspecific(key, (void *)(intptr_t)(connection + 1));
    atomic_store(&state, 1);
    pthread_mutex_unlock(&lock);
    returned_ns = first ? started_ns : now();
    return 0;
}

/* --- what the engine asks for -------------------------------------------------------------- */

static char *reached(uint64_t address) {
    for (int i = 0; i < n_regions; i++)
        if (address - regions[i].first < regions[i].span)
            return (char *)(regions[i].alias + (address - regions[i].first));
    return (char *)address;
}

static void copy(const struct answer *ask) {
    char *target = reached(ask->a), *source = reached(ask->b);
    for (uint64_t row = 0; row < ask->f; row++)
        memmove(target + row * ask->d, source + row * ask->e, ask->c);
}

static uint64_t called(const struct answer *ask) {
    switch (ask->status) {
    case 0: ((void (*)(void *))ask->a)((void *)ask->b); return 0;
    case 1: ((void (*)(void *, int, void *))ask->a)((void *)ask->b, (int)ask->c, (void *)ask->d);
            return 0;
    default: return ((size_t(*)(int))ask->a)((int)ask->b);
    }
}

static void mapped(const struct answer *ask) {
    mmap((void *)ask->a, ask->b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
         regions[ask->d].file, (off_t)ask->c);
    madvise((void *)ask->a, ask->b, MADV_DONTFORK);
}

/* The program's own pages become the device's: the same bytes at the same place, now shared. */
static void shared(const struct answer *ask) {
    memcpy((char *)regions[ask->d].alias + ask->c, (void *)ask->a, ask->b);
    mmap((void *)ask->a, ask->b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
         regions[ask->d].file, (off_t)ask->c);
}
static void unshared(const struct answer *ask) {
    mmap((void *)ask->a, ask->b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS,
         -1, 0);
    memcpy((void *)ask->a, (char *)regions[ask->d].alias + ask->c, ask->b);
}

static void print(const struct answer *ask) {
    FILE *file = ask->status == 2 ? stderr : stdout;
    char *text = malloc(ask->a + 1);
    receive_all(text, ask->a);
    fwrite(text, 1, ask->a, file);
    free(text);
}

static void write_results(uint64_t n) {
    char small[4096], *data = n > sizeof small ? malloc(n) : small;
    receive_all(data, n);
    for (char *at = data; at < data + n;) {
        uint64_t address, bytes;
        memcpy(&address, at, 8), memcpy(&bytes, at + 8, 8);
        memcpy(reached(address), at + 16, bytes);
        at += 16 + bytes;
    }
    if (data != small) free(data);
}

static int answered(void) {
    struct answer ask;
    for (;;) {
        receive_all(&ask, sizeof ask);
        switch (ask.operation) {
        case RETURN: write_results(ask.a); returned_ns = now(); return ask.status;
        case READ: send_all(reached(ask.a), ask.b); break;
        case TEXT: {
            uint64_t n = strlen((char *)ask.a);
            done(n);
            send_all((char *)ask.a, n);
            break;
        }
        case WRITE: receive_all(reached(ask.a), ask.b); break;
        case COPY: copy(&ask); done(0); break;
        case CALL: done(called(&ask)); break;
        case MAP: mapped(&ask); done(0); break;
        case UNMAP:
            mmap((void *)ask.a, ask.b, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
            done(0);
            break;
        case PRINT: print(&ask); break;
        case SHARE: shared(&ask); done(0); break;
        case UNSHARE: unshared(&ask); done(0); break;
        }
    }
}

static void ask(int slot, const uint64_t *words, size_t n, const void *data, size_t bytes) {
    char small[1024];
    uint64_t entered = now();
    struct request head = {slot, (uint32_t)n, entered - returned_ns, bytes};
    size_t total = sizeof head + 8 * n + bytes;
    char *message = total > sizeof small ? malloc(total) : small;
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, words, 8 * n);
    if (bytes) memcpy(message + sizeof head + 8 * n, data, bytes);
    send_all(message, total);
    if (message != small) free(message);
}

/* Registrations are told before the next call: a program that makes none needs no engine. */
static void tell_registrations(void) {
    pthread_mutex_lock(&lock);
    if (n_sent < n_registered) {
        ask(REGISTRATIONS, NULL, 0, registered + n_sent, n_registered - n_sent);
        answered();
        n_sent = n_registered;
    }
    pthread_mutex_unlock(&lock);
}

EXPORTED int warplens_call(int slot, const uint64_t *words, size_t n, const void *data,
                           size_t bytes) {
    int status = ready();
    if (status) return status;
    if (n_sent < n_registered) tell_registrations();
    ask(slot, words, n, data, bytes);
    return answered();
}

EXPORTED void warplens_register(const uint64_t *words, size_t n, const char *name) {
    size_t length = name ? strlen(name) : 0, padded = (length + 8) / 8 * 8;
    pthread_mutex_lock(&lock);
    size_t needed = n_registered + 16 + 8 * n + padded;
    if (needed > room) registered = realloc(registered, room = 2 * needed);
    char *at = registered + n_registered;
    uint64_t head[2] = {n, padded};
    memset(at, 0, 16 + 8 * n + padded);
    memcpy(at, head, 16);
    memcpy(at + 16, words, 8 * n);
    if (length) memcpy(at + 16 + 8 * n, name, length);
    n_registered = needed;
    pthread_mutex_unlock(&lock);
}

EXPORTED int warplens_missing(atomic_int *is_told, const char *name) {
    if (!atomic_exchange(is_told, 1))
        fprintf(stderr, "warplens: %s is not supported by the simulated GPU\n", name);
    return 801;
}
