// ioredis and iovalkey, which share an interface: their commands on strings, keys and hashes.
'use strict';

const { BINARY, LARGE, ca, check, client, equal, host, key, main, near, now, password, port, refused, restartServer, sleep, username } = require('./checks');

const Redis = require(client);
const WRONG_TYPE = 'Operation against a key holding the wrong kind of value';

function connect(options) {
  const c = new Redis({ host, port, username, password, ...(ca ? { tls: { ca } } : {}), ...options });
  c.on('error', () => {});
  return c;
}

check('SET stores and replaces', async (c) => {
  const k = key();
  equal(await c.get(k), null);
  equal(await c.set(k, 'a'), 'OK');
  equal(await c.set(k, 'b'), 'OK');
  equal(await c.get(k), 'b');
});

check('SET nx and xx', async (c) => {
  const k = key();
  equal(await c.set(k, 'a', 'XX'), null);
  equal(await c.set(k, 'a', 'NX'), 'OK');
  equal(await c.set(k, 'b', 'NX'), null);
  equal(await c.set(k, 'c', 'XX'), 'OK');
  equal(await c.get(k), 'c');
});

check('SET ex px exat and pxat', async (c) => {
  const [k, at] = [key(), now() + 300];
  await c.set(k, 'a', 'EX', 100);
  near(await c.ttl(k), 100);
  await c.set(k, 'a', 'PX', 200000);
  near(await c.ttl(k), 200);
  await c.set(k, 'a', 'EXAT', at);
  equal(await c.expiretime(k), at);
  await c.set(k, 'a', 'PXAT', at * 1000 + 100000);
  equal(await c.expiretime(k), at + 100);
  await c.set(k, 'a');
  equal(await c.ttl(k), -1);
});

check('SET keepttl and get', async (c) => {
  const k = key();
  await c.set(k, 'a', 'EX', 100);
  equal(await c.set(k, 'b', 'KEEPTTL', 'GET'), 'a');
  near(await c.ttl(k), 100);
  equal(await c.set(key(), 'b', 'GET'), null);
});

check('SET expires', async (c) => {
  const k = key();
  await c.set(k, 'a', 'EX', 1);
  equal(await c.get(k), 'a');
  await sleep(2200);
  equal(await c.get(k), null);
});

check('SETNX stores only what is absent', async (c) => {
  const k = key();
  equal([await c.setnx(k, 'a'), await c.setnx(k, 'b')], [1, 0]);
});

check('SETEX stores with an expiry', async (c) => {
  const k = key();
  equal(await c.setex(k, 100, 'a'), 'OK');
  near(await c.ttl(k), 100);
});

check('PSETEX stores with an expiry in milliseconds', async (c) => {
  const k = key();
  equal(await c.psetex(k, 100000, 'a'), 'OK');
  near(await c.ttl(k), 100);
});

check('GETEX reads and changes the expiry', async (c) => {
  const k = key();
  equal(await c.getex(k, 'EX', 10), null);
  await c.set(k, 'a');
  equal(await c.getex(k), 'a');
  equal(await c.getex(k, 'EX', 100), 'a');
  near(await c.ttl(k), 100);
  equal(await c.getex(k, 'PERSIST'), 'a');
  equal(await c.ttl(k), -1);
});

check('GETDEL reads and deletes', async (c) => {
  const k = key();
  equal(await c.getdel(k), null);
  await c.set(k, 'a');
  equal(await c.getdel(k), 'a');
  equal(await c.exists(k), 0);
});

check('GETSET replaces and returns', async (c) => {
  const k = key();
  equal([await c.getset(k, 'a'), await c.getset(k, 'b')], [null, 'a']);
});

check('MSET stores all', async (c) => {
  const values = new Map(Array.from({ length: 500 }, (_, n) => [key(), `${n}`]));
  equal(await c.mset(values), 'OK');
  equal(await c.mget([...values.keys()]), [...values.values()]);
});

check('MGET reads all with holes', async (c) => {
  const [a, b, h] = [key(), key(), key()];
  await c.mset(a, '1', b, '2');
  await c.hset(h, 'f', 'v');
  equal(await c.mget(a, key(), h, b), ['1', null, null, '2']);
});

check('MSETNX stores all or none', async (c) => {
  const [a, b] = [key(), key()];
  equal(await c.msetnx(a, '1', b, '2'), 1);
  equal(await c.msetnx(key(), '1', b, '3'), 0);
});

check('APPEND appends and creates', async (c) => {
  const k = key();
  equal([await c.append(k, 'ab'), await c.append(k, 'cd'), await c.get(k)], [2, 4, 'abcd']);
});

check('STRLEN counts bytes', async (c) => {
  const k = key();
  await c.set(k, 'héllo');
  equal([await c.strlen(k), await c.strlen(key())], [6, 0]);
});

check('GETRANGE reads a part', async (c) => {
  const k = key();
  await c.set(k, 'This is a string');
  equal([await c.getrange(k, 0, 3), await c.getrange(k, -3, -1), await c.getrange(k, 5, 2)], ['This', 'ing', '']);
});

check('SETRANGE writes a part', async (c) => {
  const k = key();
  await c.set(k, 'Hello World');
  equal([await c.setrange(k, 6, 'Redis'), await c.get(k)], [11, 'Hello Redis']);
});

check('INCR counts up', async (c) => {
  const k = key();
  equal([await c.incr(k), await c.incr(k)], [1, 2]);
  await c.set(k, '9223372036854775807');
  await refused('increment or decrement would overflow', c.incr(k));
});

check('INCRBY adds', async (c) => {
  const k = key();
  equal([await c.incrby(k, 40), await c.incrby(k, -50)], [40, -10]);
});

check('INCRBYFLOAT adds fractions', async (c) => {
  const k = key();
  equal([await c.incrbyfloat(k, 10.5), await c.incrbyfloat(k, 0.1)].map(String), ['10.5', '10.6']);
});

check('DECR counts down', async (c) => equal(await c.decr(key()), -1));
check('DECRBY subtracts', async (c) => equal(await c.decrby(key(), 7), -7));

check('DEL deletes and counts', async (c) => {
  const keys = Array.from({ length: 100 }, () => key());
  await c.mset(keys.flatMap((k) => [k, 'a']));
  equal(await c.del(...keys, key()), 100);
  equal(await c.exists(keys), 0);
});

check('UNLINK deletes too', async (c) => {
  const [a, b] = [key(), key()];
  await c.mset(a, '1', b, '2');
  equal(await c.unlink(a, b, key()), 2);
});

check('EXISTS counts repeats', async (c) => {
  const k = key();
  await c.set(k, 'a');
  equal(await c.exists(k, k, key()), 2);
});

check('EXPIRE nx xx gt and lt', async (c) => {
  const k = key();
  equal(await c.expire(k, 100), 0);
  await c.set(k, 'a');
  equal(await c.expire(k, 100, 'XX'), 0);
  equal(await c.expire(k, 100, 'NX'), 1);
  equal(await c.expire(k, 50, 'GT'), 0);
  equal(await c.expire(k, 200, 'GT'), 1);
  equal(await c.expire(k, 300, 'LT'), 0);
  equal(await c.expire(k, 60, 'LT'), 1);
  near(await c.ttl(k), 60);
});

check('PEXPIRE takes milliseconds', async (c) => {
  const k = key();
  await c.set(k, 'a');
  equal(await c.pexpire(k, 100000), 1);
  near(await c.ttl(k), 100);
});

check('EXPIREAT takes a moment', async (c) => {
  const [k, at] = [key(), now() + 100];
  await c.set(k, 'a');
  equal([await c.expireat(k, at), await c.expiretime(k)], [1, at]);
});

check('PEXPIREAT takes a moment in milliseconds', async (c) => {
  const [k, at] = [key(), now() + 100];
  await c.set(k, 'a');
  equal([await c.pexpireat(k, at * 1000), await c.pexpiretime(k)], [1, at * 1000]);
});

check('TTL tells absent from unlimited', async (c) => {
  const k = key();
  equal(await c.ttl(k), -2);
  await c.set(k, 'a');
  equal(await c.ttl(k), -1);
});

check('PTTL counts milliseconds', async (c) => {
  const k = key();
  await c.set(k, 'a', 'EX', 10);
  const left = await c.pttl(k);
  equal(left >= 8000 && left <= 11000, true);
});

check('PERSIST removes the expiry', async (c) => {
  const k = key();
  await c.set(k, 'a', 'EX', 100);
  equal([await c.persist(k), await c.persist(k), await c.ttl(k)], [1, 0, -1]);
});

check('TOUCH counts what is there', async (c) => {
  const k = key();
  await c.set(k, 'a');
  equal(await c.touch(k, key()), 1);
});

check('TYPE names strings and hashes', async (c) => {
  const [s, h] = [key(), key()];
  await c.set(s, 'a');
  await c.hset(h, 'f', 'v');
  equal(await Promise.all([s, h, key()].map((k) => c.type(k))), ['string', 'hash', 'none']);
});

check('RENAME moves a value', async (c) => {
  const [a, b] = [key(), key()];
  await c.set(a, '1');
  equal([await c.rename(a, b), await c.get(b)], ['OK', '1']);
});

check('COPY copies a value', async (c) => {
  const [a, b] = [key(), key()];
  await c.set(a, '1');
  equal([await c.copy(a, b), await c.get(b)], [1, '1']);
});

check('SCAN streams with match, count and type', async (c) => {
  const prefix = key();
  const keys = Array.from({ length: 1000 }, (_, n) => `${prefix}:${n}`);
  await c.mset(keys.flatMap((k) => [k, 'a']));
  await c.hset(`${prefix}:h`, 'f', 'v');
  const collect = async (options) => {
    const found = new Set();
    for await (const some of c.scanStream(options)) some.forEach((k) => found.add(k));
    return [...found].sort();
  };
  equal(await collect({ match: `${prefix}:*`, count: 100 }), [...keys, `${prefix}:h`].sort());
  equal(await collect({ match: `${prefix}:*`, type: 'hash' }), [`${prefix}:h`]);
});

check('KEYS matches patterns', async (c) => {
  const prefix = key();
  await c.mset(`${prefix}:one`, '1', `${prefix}:two`, '2');
  equal(await c.keys(`${prefix}:t[a-z]?`), [`${prefix}:two`]);
});

check('RANDOMKEY gives some key', async (c) => {
  await c.set(key(), 'a');
  equal(await c.exists(await c.randomkey()), 1);
});

check('DBSIZE counts keys', async (c) => {
  const before = await c.dbsize();
  await c.set(key(), 'a');
  equal(await c.dbsize(), before + 1);
});

check('SETBIT sets and returns the old bit', async (c) => {
  const k = key();
  equal([await c.setbit(k, 7, 1), await c.setbit(k, 7, 1)], [0, 1]);
});

check('GETBIT reads a bit', async (c) => {
  const k = key();
  await c.setbit(k, 7, 1);
  equal([await c.getbit(k, 7), await c.getbit(k, 0), await c.getbit(k, 100)], [1, 0, 0]);
});

check('BITCOUNT counts in ranges', async (c) => {
  const k = key();
  await c.set(k, 'foobar');
  equal([await c.bitcount(k), await c.bitcount(k, 5, 30, 'BIT')], [26, 17]);
});

check('BITPOS finds the first', async (c) => {
  const k = key();
  await c.set(k, Buffer.from([0xff, 0xf0, 0]));
  equal([await c.bitpos(k, 0), await c.bitpos(k, 1, 2)], [12, -1]);
});

check('BITFIELD gets sets and adds', async (c) => {
  const k = key();
  equal(await c.bitfield(k, 'SET', 'u8', '#1', 255, 'OVERFLOW', 'FAIL', 'INCRBY', 'u8', '#1', 1, 'GET', 'u8', '#1'), [0, null, 255]);
});

check('BITFIELD_RO only reads', async (c) => {
  const k = key();
  await c.set(k, Buffer.from([0x12, 0x34]));
  equal(await c.bitfield_ro(k, 'GET', 'u4', 0), [1]);
});

check('HSET adds and replaces fields', async (c) => {
  const k = key();
  equal(await c.hset(k, 'a', '1'), 1);
  equal(await c.hset(k, { a: '5', b: '3', c: '4' }), 2);
  equal(await c.hgetall(k), { a: '5', b: '3', c: '4' });
});

check('HSETNX adds only an absent field', async (c) => {
  const k = key();
  equal([await c.hsetnx(k, 'a', '1'), await c.hsetnx(k, 'a', '2')], [1, 0]);
});

check('HGET reads a field', async (c) => {
  const k = key();
  await c.hset(k, 'a', '1');
  equal([await c.hget(k, 'a'), await c.hget(k, 'b')], ['1', null]);
});

check('HMSET adds fields under its old name', async (c) => {
  const k = key();
  equal([await c.hmset(k, { a: '1', b: '2' }), await c.hlen(k)], ['OK', 2]);
});

check('HMGET reads fields with holes', async (c) => {
  const k = key();
  await c.hset(k, { a: '1', b: '2' });
  equal(await c.hmget(k, 'a', 'x', 'b'), ['1', null, '2']);
});

check('HGETALL reads large hashes', async (c) => {
  const k = key();
  const fields = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`field ${n}`, `${n}`]));
  equal(await c.hset(k, fields), 2000);
  equal(await c.hgetall(k), fields);
  equal(await c.hgetall(key()), {});
});

check('HDEL removes fields and then the key', async (c) => {
  const k = key();
  await c.hset(k, { a: '1', b: '2' });
  equal([await c.hdel(k, 'a', 'x'), await c.hdel(k, 'b'), await c.exists(k)], [1, 1, 0]);
});

check('HLEN counts fields', async (c) => {
  const k = key();
  await c.hset(k, { a: '1', b: '2' });
  equal([await c.hlen(k), await c.hlen(key())], [2, 0]);
});

check('HEXISTS looks for a field', async (c) => {
  const k = key();
  await c.hset(k, 'a', '1');
  equal([await c.hexists(k, 'a'), await c.hexists(k, 'b')], [1, 0]);
});

check('HKEYS lists fields', async (c) => {
  const k = key();
  await c.hset(k, { a: '1', b: '2' });
  equal((await c.hkeys(k)).sort(), ['a', 'b']);
});

check('HVALS lists values', async (c) => {
  const k = key();
  await c.hset(k, { a: '1', b: '2' });
  equal((await c.hvals(k)).sort(), ['1', '2']);
});

check('HINCRBY adds to a field', async (c) => {
  const k = key();
  equal([await c.hincrby(k, 'a', 5), await c.hincrby(k, 'a', -7)], [5, -2]);
});

check('HINCRBYFLOAT adds fractions to a field', async (c) => {
  const k = key();
  equal([await c.hincrbyfloat(k, 'a', 1.5), await c.hincrbyfloat(k, 'a', 2.25)].map(String), ['1.5', '3.75']);
});

check('HSTRLEN counts bytes of a field', async (c) => {
  const k = key();
  await c.hset(k, 'a', 'hello');
  equal(await c.hstrlen(k, 'a'), 5);
});

check('HSCAN streams fields', async (c) => {
  const k = key();
  const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`f${n}`, `${n}`]));
  await c.hset(k, fields);
  const flat = [];
  for await (const some of c.hscanStream(k, { count: 50 })) flat.push(...some);
  const got = {};
  for (let n = 0; n < flat.length; n += 2) got[flat[n]] = flat[n + 1];
  equal(got, fields);
});

check('HRANDFIELD gives some fields', async (c) => {
  const k = key();
  await c.hset(k, { a: '1', b: '2', c: '3' });
  equal((await c.hrandfield(k, -7)).length, 7);
  equal((await c.hrandfield(k, 5, 'WITHVALUES')).flat().sort(), ['1', '2', '3', 'a', 'b', 'c']);
});

check('pipeline many commands in one write', async (c) => {
  const k = key();
  const pipe = c.pipeline();
  for (let n = 0; n < 1000; n++) pipe.set(`${k}:${n}`, `${n}`);
  for (let n = 0; n < 1000; n++) pipe.get(`${k}:${n}`);
  equal((await pipe.exec()).slice(1000), Array.from({ length: 1000 }, (_, n) => [null, `${n}`]));
});

check('pipeline an error stands at its place', async (c) => {
  const k = key();
  const got = await c.pipeline().set(k, 'text').incr(k).get(k).exec();
  equal([got[0][1], got[2][1]], ['OK', 'text']);
  equal(got[1][0].message.includes('not an integer'), true);
});

check('pipeline commands by itself', async () => {
  const [c, k] = [connect({ enableAutoPipelining: true }), key()];
  equal((await Promise.all(Array.from({ length: 1000 }, () => c.incr(k)))).at(-1), 1000);
  c.disconnect();
});

check('MULTI runs a transaction', async (c) => equal(await c.multi().set(key(), '1').exec(), [[null, 'OK']]));

check('binary keys, values and fields of any bytes', async (c) => {
  const [k, h] = [Buffer.concat([BINARY, Buffer.from(key())]), key()];
  equal(await c.set(k, BINARY), 'OK');
  equal(await c.getBuffer(k), BINARY);
  await c.hset(h, BINARY, BINARY);
  equal(await c.hgetBuffer(h, BINARY), BINARY);
  await c.set(k, '');
  equal(await c.get(k), '');
});

check('large values of a mebibyte less a little', async (c) => {
  const k = key();
  equal(await c.set(k, LARGE), 'OK');
  equal(await c.getBuffer(k), LARGE);
  equal(await c.getrangeBuffer(k, 1000, 200000), LARGE.subarray(1000, 200001));
});

check('errors wrong types', async (c) => {
  const [s, h] = [key(), key()];
  await c.set(s, 'a');
  await c.hset(h, 'f', 'v');
  await refused(WRONG_TYPE, c.get(h));
  await refused(WRONG_TYPE, c.incr(h));
  await refused(WRONG_TYPE, c.hgetall(s));
});

check('errors no integers', async (c) => {
  const k = key();
  await c.set(k, 'text');
  await refused('value is not an integer or out of range', c.incr(k));
  await refused('value is not a valid float', c.incrbyfloat(k, 1.5));
});

check('errors unknown commands', async (c) => {
  await refused("unknown command 'BOGUS', with args beginning with: 'a'", c.call('BOGUS', 'a'));
  await refused("wrong number of arguments for 'get' command", c.call('GET'));
  equal(await c.ping(), 'PONG');
});

check('CLIENT names and numbers', async (c) => {
  equal([await c.client('SETNAME', 'a-name'), await c.client('GETNAME')], ['OK', 'a-name']);
  equal((await c.client('ID')) > 0, true);
});

check('ECHO echoes', async (c) => equal(await c.echo('hello'), 'hello'));

check('INFO reports', async (c) => {
  const info = await c.info();
  for (const name of ['redis_version', 'redis_mode', 'role:master', 'loading:0', 'connected_clients']) equal(info.includes(name), true);
});

check('COMMAND describes commands', async (c) => {
  const [get] = await c.command('INFO', 'get');
  equal(get.slice(0, 2), ['get', 2]);
  equal(await c.command('COUNT') > 50, true);
});

check('pool of many connections', async () => {
  const pool = Array.from({ length: 50 }, () => connect());
  const keys = Array.from({ length: 2000 }, () => key());
  await Promise.all(keys.map((k, n) => pool[n % 50].set(k, k)));
  equal(await Promise.all(keys.map((k, n) => pool[(n + 7) % 50].get(k))), keys);
  pool.forEach((c) => c.disconnect());
});

check('FLUSHDB removes all', async (c) => {
  await c.set(key(), 'a');
  equal([await c.flushdb(), await c.dbsize()], ['OK', 0]);
});

check('connects and works', async (c) => {
  const k = key();
  equal(await c.set(k, LARGE), 'OK');
  equal(await c.getBuffer(k), LARGE);
}, 'session');

check('connects but not with a wrong password', async () => {
  if (!password) return;
  const c = connect({ password: 'wrong', retryStrategy: null, maxRetriesPerRequest: 0, lazyConnect: true });
  let said = '';
  c.on('error', (error) => { said += error.message; });
  await c.connect().catch((error) => { said += error.message; });
  await c.get('k').catch((error) => { said += error.message; });
  c.disconnect();
  equal(/invalid username-password pair|NOAUTH/.test(said) || said, true);
}, 'session');

check('restart values are still there', async (c) => {
  const values = new Map(Array.from({ length: 300 }, (_, n) => [key(), `value ${n}`]));
  const h = key();
  await c.mset(values);
  await c.hset(h, { a: '1' });
  await restartServer();
  equal(await c.mget([...values.keys()]), [...values.values()]);
  equal(await c.hgetall(h), { a: '1' });
}, 'restart');

main(async () => connect(), async (c) => c.disconnect());
