// BerkeleyDB's calls are function pointers in structures whose layout is the version's own; here the compiler finds them.
// Every function returns BerkeleyDB's code, 0 if all is well.
#include <db.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct peer_bdb {
    DB_ENV *env;
    DB *db;
};

int peer_bdb_close(struct peer_bdb *peer) {
    int code = 0, other = 0;
    if (peer->db) code = peer->db->close(peer->db, 0);
    if (peer->env) other = peer->env->close(peer->env, 0);
    free(peer);
    return code ? code : other;
}

// A hash of `elements` keys, `fill` of them a page of 4 KiB; a B-tree if there are none. There is no log: what is not synced may
// be lost.
static int set_up(struct peer_bdb *peer, const char *dir, uint64_t cache, uint32_t elements, uint32_t fill) {
    int code = db_env_create(&peer->env, 0);
    if (code) return code;
    DB_ENV *env = peer->env;
    if ((code = env->set_cachesize(env, (uint32_t)(cache >> 30), (uint32_t)(cache & ((1u << 30) - 1)), 1))) return code;
    uint32_t flags = DB_CREATE | DB_INIT_MPOOL | DB_PRIVATE | DB_THREAD | DB_INIT_CDB;
    if ((code = env->open(env, dir, flags, 0644))) return code;
    if ((code = db_create(&peer->db, env, 0))) return code;
    DB *db = peer->db;
    if ((code = db->set_pagesize(db, 4096))) return code;
    if (elements && (code = db->set_h_nelem(db, elements))) return code;
    if (elements && (code = db->set_h_ffactor(db, fill))) return code;
    return db->open(db, NULL, "data.db", NULL, elements ? DB_HASH : DB_BTREE, DB_CREATE | DB_THREAD, 0644);
}

int peer_bdb_open(const char *dir, uint64_t cache, uint32_t elements, uint32_t fill, struct peer_bdb **made) {
    struct peer_bdb *peer = calloc(1, sizeof *peer);
    if (!peer) return ENOMEM;
    int code = set_up(peer, dir, cache, elements, fill);
    if (code) {
        peer_bdb_close(peer);
        return code;
    }
    *made = peer;
    return 0;
}

int peer_bdb_put(struct peer_bdb *peer, const void *key, uint32_t key_bytes, const void *value, uint32_t value_bytes) {
    DBT of_key = {0}, of_value = {0};
    of_key.data = (void *)key;
    of_key.size = key_bytes;
    of_value.data = (void *)value;
    of_value.size = value_bytes;
    return peer->db->put(peer->db, NULL, &of_key, &of_value, 0);
}

// 1 if there is no such key; `bytes` of the value else, which is in `room`.
int peer_bdb_get(struct peer_bdb *peer, const void *key, uint32_t key_bytes, void *room, uint32_t room_bytes, uint32_t *bytes) {
    DBT of_key = {0}, of_value = {0};
    of_key.data = (void *)key;
    of_key.size = key_bytes;
    of_value.data = room;
    of_value.ulen = room_bytes;
    of_value.flags = DB_DBT_USERMEM;
    int code = peer->db->get(peer->db, NULL, &of_key, &of_value, 0);
    *bytes = of_value.size;
    return code == DB_NOTFOUND ? 1 : code;
}

int peer_bdb_sync(struct peer_bdb *peer) { return peer->db->sync(peer->db, 0); }

const char *peer_bdb_error(int code) { return db_strerror(code); }

const char *peer_bdb_version(void) { return db_version(NULL, NULL, NULL); }
