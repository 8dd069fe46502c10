/*
 * A clock of the day that a test sets, for one process alone: a library to preload.
 *
 * CLOCK_AHEAD names a file of eight bytes: by how many seconds the clock is ahead, in the machine's byte order. Programs read
 * clocks by calling the kernel's vDSO, some of them without the C library, so the functions are replaced there. Clocks that
 * count from the start of the machine stay as they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_s;

static int read_clock(clockid_t id, struct timespec *at) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_clock_gettime), "D"(id), "S"(at) : "rcx", "r11", "memory");
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI))
        at->tv_sec += *ahead_s;
    return (int)result;
}

static int read_timeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    read_clock(CLOCK_REALTIME, &now);
    if (at) {
        at->tv_sec = now.tv_sec;
        at->tv_usec = now.tv_nsec / 1000;
    }
    return 0;
}

static time_t read_time(time_t *at) {
    struct timespec now;
    read_clock(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}

/* Has a function of the vDSO jump to another: mov rax, address; jmp rax. */
static void replace(void *vdso, const char *name, const void *by) {
    unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    void *at = dlsym(vdso, name);
    int memory = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
    memcpy(jump + 2, &by, sizeof by);
    if (!at || pwrite(memory, jump, sizeof jump, (off_t)(uintptr_t)at) != sizeof jump)
        abort();
    close(memory);
}

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("CLOCK_AHEAD");
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0 || !vdso)
        abort();
    ahead_s = mmap(0, sizeof *ahead_s, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (ahead_s == MAP_FAILED)
        abort();
    replace(vdso, "__vdso_clock_gettime", (const void *)read_clock);
    replace(vdso, "__vdso_gettimeofday", (const void *)read_timeofday);
    replace(vdso, "__vdso_time", (const void *)read_time);
}
