/* The least that a load generator in C does: gets of random keys over some connections, so many in flight on each, one
 * thread with epoll; every answer is taken apart, timed and counted. `run` compares `fawn bench net` with it.
 *
 *     generator PORT CONNECTIONS DEPTH SECONDS
 *
 * Prints the gets, and the CPU time of each in microseconds. Values are not looked at.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

enum { KEYS = 1000000, KEY_BYTES = 20, REQUEST_BYTES = 4 + KEY_BYTES + 2, ROOM = 1 << 20, EVENTS = 256 };

struct connection {
    int socket;
    char *input;       /* what was received and not taken apart yet: `held` bytes */
    size_t held;
    uint64_t *sent_ns; /* when each request in flight was sent, a ring of `depth` */
    unsigned first, in_flight;
};

static unsigned depth;
static uint64_t answered, latencies[64], state = 88172645463325252u;

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static double cpu_us(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* The key of an entry, as any generator makes it: 16 hexadecimal digits of a hash, and four letters. */
static void put_key(char *out, uint64_t entry) {
    entry += 0x9e3779b97f4a7c15u;
    entry = (entry ^ (entry >> 30)) * 0xbf58476d1ce4e5b9u;
    entry = (entry ^ (entry >> 27)) * 0x94d049bb133111ebu;
    entry ^= entry >> 31;
    for (int digit = 0; digit < 16; digit++, entry >>= 4) out[digit] = "0123456789abcdef"[entry & 15];
    memcpy(out + 16, "keyz", 4);
}

/* Fills the pipeline up, with one send. */
static void ask(struct connection *connection, uint64_t at_ns) {
    char requests[64 * REQUEST_BYTES];
    size_t bytes = 0;
    while (connection->in_flight < depth) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        memcpy(requests + bytes, "get ", 4);
        put_key(requests + bytes + 4, state % KEYS);
        memcpy(requests + bytes + 4 + KEY_BYTES, "\r\n", 2);
        bytes += REQUEST_BYTES;
        connection->sent_ns[(connection->first + connection->in_flight++) % depth] = at_ns;
    }
    if (bytes && send(connection->socket, requests, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) fail("send");
}

/* Takes the answers that are whole: `VALUE key flags bytes`, the value, `END`. */
static void take(struct connection *connection, uint64_t at_ns) {
    size_t done = 0;
    for (;;) {
        char *line = connection->input + done;
        size_t left = connection->held - done;
        char *end = memchr(line, '\n', left);
        if (!end) break;
        if (*line == 'V') {
            char *digits = end;
            while (digits[-1] != ' ') digits--;
            size_t whole = (size_t)(end + 1 - line) + strtoul(digits, NULL, 10) + 2;
            if (left < whole) break;
            done += whole;
        } else if (left >= 5 && !memcmp(line, "END\r\n", 5)) {
            uint64_t took = at_ns - connection->sent_ns[connection->first];
            latencies[took ? 63 - __builtin_clzll(took) : 0]++;
            connection->first = (connection->first + 1) % depth;
            connection->in_flight--;
            answered++;
            done += 5;
        } else {
            fprintf(stderr, "an answer that is none: %.*s", (int)(end + 1 - line), line);
            exit(1);
        }
    }
    memmove(connection->input, connection->input + done, connection->held -= done);
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: generator PORT CONNECTIONS DEPTH SECONDS\n");
        return 2;
    }
    int connections = atoi(arguments[2]), epoll = epoll_create1(0);
    depth = (unsigned)atoi(arguments[3]);
    if (connections < 1 || depth < 1 || depth > 64) return 2;
    struct connection *all = calloc((size_t)connections, sizeof *all);
    struct sockaddr_in server = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(arguments[1])),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    for (int number = 0; number < connections; number++) {
        struct connection *connection = all + number;
        int on = 1;
        connection->socket = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(connection->socket, (struct sockaddr *)&server, sizeof server)) fail("connect");
        setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        fcntl(connection->socket, F_SETFL, O_NONBLOCK);
        connection->input = malloc(ROOM);
        connection->sent_ns = calloc(depth, sizeof *connection->sent_ns);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, connection->socket, &event)) fail("epoll_ctl");
        ask(connection, now_ns());
    }
    uint64_t end_ns = now_ns() + (uint64_t)(atof(arguments[4]) * 1e9);
    double before_us = cpu_us();
    while (now_ns() < end_ns) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(epoll, events, EVENTS, 100);
        for (int number = 0; number < ready; number++) {
            struct connection *connection = events[number].data.ptr;
            char *room = connection->input + connection->held;
            ssize_t received = recv(connection->socket, room, ROOM - connection->held, 0);
            if (received < 0 && errno == EAGAIN) continue;
            if (received <= 0) fail("recv");
            connection->held += (size_t)received;
            uint64_t at_ns = now_ns();
            take(connection, at_ns);
            ask(connection, at_ns);
        }
    }
    double us = cpu_us() - before_us;
    printf("%llu %.4f\n", (unsigned long long)answered, us / (double)(answered ? answered : 1));
    return 0;
}
