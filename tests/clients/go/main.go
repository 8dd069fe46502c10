// gomemcache: its whole API against the server that the arguments name.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

var (
	run    = fmt.Sprintf("go-%x", time.Now().UnixNano())
	serial int
	lock   sync.Mutex
)

// key is a key that no other check uses.
func key() string {
	lock.Lock()
	defer lock.Unlock()
	serial++
	return fmt.Sprintf("%s-%d", run, serial)
}

func item(key, value string) *memcache.Item {
	return &memcache.Item{Key: key, Value: []byte(value)}
}

// want is an error when got is not the expected error.
func want(got, expected error) error {
	if !errors.Is(got, expected) {
		return fmt.Errorf("expected %v, got %v", expected, got)
	}
	return nil
}

// value is an error when the key does not hold the text.
func value(c *memcache.Client, key, text string) error {
	got, err := c.Get(key)
	if err != nil {
		return err
	}
	if string(got.Value) != text {
		return fmt.Errorf("expected %.80q, got %.80q", text, got.Value)
	}
	return nil
}

// first is the first error that there is.
func first(all ...error) error {
	return errors.Join(all...)
}

type check struct {
	name string
	do   func(c *memcache.Client) error
}

var checks = []check{
	{"set and get", func(c *memcache.Client) error {
		k := key()
		_, absent := c.Get(k)
		return first(want(absent, memcache.ErrCacheMiss), c.Set(item(k, "value")), value(c, k, "value"))
	}},
	{"flags come back and are replaced", func(c *memcache.Client) error {
		k := key()
		for _, flags := range []uint32{1, 0, 1<<32 - 1, 7} {
			if err := c.Set(&memcache.Item{Key: k, Value: []byte("a"), Flags: flags}); err != nil {
				return err
			}
			got, err := c.Get(k)
			if err != nil || got.Flags != flags {
				return fmt.Errorf("expected flags %d, got %v, %v", flags, got, err)
			}
		}
		return nil
	}},
	{"add stores only what is absent", func(c *memcache.Client) error {
		k := key()
		return first(c.Add(item(k, "a")), want(c.Add(item(k, "b")), memcache.ErrNotStored), value(c, k, "a"))
	}},
	{"replace stores only what is present", func(c *memcache.Client) error {
		k := key()
		return first(want(c.Replace(item(k, "a")), memcache.ErrNotStored), c.Set(item(k, "a")), c.Replace(item(k, "b")), value(c, k, "b"))
	}},
	{"append and prepend", func(c *memcache.Client) error {
		k := key()
		return first(
			want(c.Append(item(k, "x")), memcache.ErrNotStored), want(c.Prepend(item(k, "x")), memcache.ErrNotStored),
			c.Set(item(k, "b")), c.Append(item(k, "c")), c.Prepend(item(k, "a")), value(c, k, "abc"))
	}},
	{"compare and swap", func(c *memcache.Client) error {
		k := key()
		if err := c.Set(item(k, "a")); err != nil {
			return err
		}
		one, err := c.Get(k)
		if err != nil {
			return err
		}
		two, _ := c.Get(k)
		one.Value, two.Value = []byte("b"), []byte("c")
		err = first(c.CompareAndSwap(one), want(c.CompareAndSwap(two), memcache.ErrCASConflict), value(c, k, "b"))
		three, _ := c.Get(k)
		return first(err, c.Delete(k), want(c.CompareAndSwap(three), memcache.ErrCacheMiss))
	}},
	{"get multi of five thousand keys", func(c *memcache.Client) error {
		prefix, keys := key(), []string{}
		for n := 0; n < 5000; n++ {
			keys = append(keys, fmt.Sprintf("%s-%d", prefix, n))
			if err := c.Set(item(keys[n], fmt.Sprint(n))); err != nil {
				return err
			}
		}
		got, err := c.GetMulti(append(keys, key()))
		if err != nil || len(got) != 5000 {
			return fmt.Errorf("%d of 5000 values, %v", len(got), err)
		}
		for n, k := range keys {
			if string(got[k].Value) != fmt.Sprint(n) {
				return fmt.Errorf("%s holds %q", k, got[k].Value)
			}
		}
		return nil
	}},
	{"delete", func(c *memcache.Client) error {
		k := key()
		err := first(c.Set(item(k, "a")), c.Delete(k), want(c.Delete(k), memcache.ErrCacheMiss))
		_, absent := c.Get(k)
		return first(err, want(absent, memcache.ErrCacheMiss))
	}},
	{"increment and decrement with wrap and floor", func(c *memcache.Client) error {
		k := key()
		_, absent := c.Increment(k, 1)
		err := first(want(absent, memcache.ErrCacheMiss), c.Set(item(k, "10")))
		for _, step := range []struct {
			do    func(string, uint64) (uint64, error)
			delta uint64
			then  uint64
		}{
			{c.Increment, 5, 15}, {c.Decrement, 6, 9}, {c.Increment, 1, 10}, {c.Decrement, 100, 0},
			{c.Increment, 1<<64 - 1, 1<<64 - 1}, {c.Increment, 2, 1},
		} {
			got, problem := step.do(k, step.delta)
			if problem != nil || got != step.then {
				return fmt.Errorf("expected %d, got %d, %v", step.then, got, problem)
			}
		}
		if err = first(err, c.Set(item(k, "text"))); err != nil {
			return err
		}
		if _, err = c.Increment(k, 1); err == nil || !strings.Contains(err.Error(), "non-numeric") {
			return fmt.Errorf("increment of text: %v", err)
		}
		return value(c, k, "text")
	}},
	{"touch and expiry", func(c *memcache.Client) error {
		short, touched, late, past := key(), key(), key(), key()
		err := first(
			c.Set(&memcache.Item{Key: short, Value: []byte("a"), Expiration: 3}),
			c.Set(&memcache.Item{Key: touched, Value: []byte("a"), Expiration: 3}),
			c.Set(&memcache.Item{Key: late, Value: []byte("a"), Expiration: int32(time.Now().Unix() + 100)}),
			c.Set(&memcache.Item{Key: past, Value: []byte("a"), Expiration: -1}),
			c.Touch(touched, 100), want(c.Touch(key(), 100), memcache.ErrCacheMiss), value(c, short, "a"))
		_, atOnce := c.Get(past)
		time.Sleep(4200 * time.Millisecond)
		_, gone := c.Get(short)
		return first(err, want(atOnce, memcache.ErrCacheMiss), want(gone, memcache.ErrCacheMiss), value(c, touched, "a"), value(c, late, "a"))
	}},
	{"get and touch", func(c *memcache.Client) error {
		k := key()
		_, absent := c.GetAndTouch(k, 100)
		err := first(want(absent, memcache.ErrCacheMiss), c.Set(&memcache.Item{Key: k, Value: []byte("a"), Expiration: 3, Flags: 3}))
		got, problem := c.GetAndTouch(k, 100)
		if problem != nil || string(got.Value) != "a" || got.Flags != 3 {
			return fmt.Errorf("got %v, %v", got, problem)
		}
		time.Sleep(4200 * time.Millisecond)
		return first(err, value(c, k, "a"))
	}},
	{"binary, empty and large values", func(c *memcache.Client) error {
		k, chance := key(), rand.New(rand.NewSource(1))
		for _, length := range []int{0, 1, 2048, 65535, 65537, 1000000} {
			data := make([]byte, length)
			chance.Read(data)
			if err := c.Set(&memcache.Item{Key: k, Value: data}); err != nil {
				return err
			}
			got, err := c.Get(k)
			if err != nil || !bytes.Equal(got.Value, data) {
				return fmt.Errorf("%d bytes came back changed, %v", length, err)
			}
		}
		return first(c.Set(item(k, "\r\nEND\r\n")), value(c, k, "\r\nEND\r\n"))
	}},
	{"large multi set from many goroutines", func(c *memcache.Client) error {
		var all sync.WaitGroup
		problems := make([]error, 16)
		for worker := range problems {
			all.Add(1)
			go func(worker int) {
				defer all.Done()
				text := strings.Repeat(fmt.Sprint(worker), 20000)
				for n := 0; n < 30; n++ {
					k := key()
					problems[worker] = first(problems[worker], c.Set(item(k, text)), value(c, k, text))
				}
			}(worker)
		}
		all.Wait()
		return first(problems...)
	}},
	{"too large is refused and the connection goes on", func(c *memcache.Client) error {
		k := key()
		err := c.Set(item(k, "old"))
		if refused := c.Set(item(k, strings.Repeat("x", 1<<21))); refused == nil {
			return errors.New("2 MiB were stored")
		}
		_, gone := c.Get(k)
		return first(err, want(gone, memcache.ErrCacheMiss), c.Set(item(k, "new")), value(c, k, "new"))
	}},
	{"keys of 250 bytes", func(c *memcache.Client) error {
		k := strings.Repeat("g", 250)
		return first(c.Set(item(k, "a")), value(c, k, "a"), c.Delete(k), want(c.Set(item(k+"g", "a")), memcache.ErrMalformedKey))
	}},
	{"ping", func(c *memcache.Client) error { return c.Ping() }},
	{"flush all and delete all", func(c *memcache.Client) error {
		k := key()
		err := first(c.Set(item(k, "a")), c.FlushAll())
		_, gone := c.Get(k)
		err = first(err, want(gone, memcache.ErrCacheMiss), c.Set(item(k, "b")), value(c, k, "b"), c.DeleteAll())
		_, gone = c.Get(k)
		return first(err, want(gone, memcache.ErrCacheMiss))
	}},
	{"close and connect again", func(c *memcache.Client) error {
		k := key()
		return first(c.Set(item(k, "a")), c.Close(), value(c, k, "a"))
	}},
}

func main() {
	for _, check := range checks {
		c := memcache.New(os.Args[1] + ":" + os.Args[2])
		c.Timeout = 10 * time.Second
		if err := check.do(c); err != nil {
			fmt.Printf("not ok %s: %s\n", check.name, strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Printf("ok %s\n", check.name)
		}
	}
	fmt.Println("done")
}
