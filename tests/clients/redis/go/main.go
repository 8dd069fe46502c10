// go-redis and rueidis: their commands on strings, keys and hashes.
//
//	api go-redis|rueidis api|session|restart HOST PORT
package main

import (
	"bufio"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
	"sync/atomic"
	"time"
)

const wrongType = "Operation against a key holding the wrong kind of value"

var (
	address  = os.Args[3] + ":" + os.Args[4]
	username = os.Getenv("USERNAME")
	password = os.Getenv("PASSWORD")
	binary   = allBytes()
	large    = noise(1<<20 - 512)
	serial   atomic.Int64
	started  = time.Now().UnixNano()
)

// check is one named check of a mode; it panics with what is wrong.
type check struct {
	mode, name string
	run        func()
}

// key is a key that no other check uses.
func key() string {
	return fmt.Sprintf("go:%x:%d", started, serial.Add(1))
}

func allBytes() string {
	bytes := make([]byte, 256)
	for n := range bytes {
		bytes[n] = byte(n)
	}
	return string(bytes)
}

func noise(length int) string {
	bytes := make([]byte, length)
	rand.Read(bytes)
	return string(bytes)
}

func cut(value any) string {
	text := fmt.Sprintf("%#v", value)
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return text
}

// equal panics unless both are deeply equal; integers of all sizes are alike.
func equal(got, expected any) {
	if number, is := expected.(int); is {
		expected = int64(number)
	}
	if !reflect.DeepEqual(got, expected) {
		panic(fmt.Sprintf("expected %s, got %s", cut(expected), cut(got)))
	}
}

// near panics unless a time to live began a moment ago.
func near(got, expected int64) {
	if got < expected-2 || got > expected {
		panic(fmt.Sprintf("expected about %d, got %d", expected, got))
	}
}

// refused panics unless the server refused with this in its words.
func refused(err error, text string) {
	if err == nil || !strings.Contains(err.Error(), text) {
		panic(fmt.Sprintf("expected an error with `%s`, got `%v`", text, err))
	}
}

// ok panics with the error, if there is one.
func ok(err error) {
	if err != nil {
		panic(err)
	}
}

func sorted(words []string) []string {
	sort.Strings(words)
	return words
}

// tlsConfig trusts the certificate that the server was started with.
func tlsConfig() *tls.Config {
	path := os.Getenv("CA_FILE")
	if path == "" {
		return nil
	}
	pem, err := os.ReadFile(path)
	ok(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: pool, ServerName: "localhost"}
}

// restartServer asks whoever started this to kill the server and start it again.
func restartServer() {
	fmt.Println("restart")
	bufio.NewReader(os.Stdin).ReadString('\n')
}

// eventually tries again what may fail while a client finds out that its connections are gone.
func eventually(try func() error) {
	var err error
	for range 100 {
		if err = try(); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	panic(err)
}

func run(one check) {
	defer func() {
		if wrong := recover(); wrong != nil {
			fmt.Printf("not ok %s: %s\n", one.name, strings.ReplaceAll(fmt.Sprint(wrong), "\n", " "))
		}
	}()
	one.run()
	fmt.Println("ok " + one.name)
}

func main() {
	checks := goRedis
	if os.Args[1] == "rueidis" {
		checks = rueidisChecks
	}
	for _, one := range checks() {
		if one.mode == os.Args[2] {
			run(one)
		}
	}
	fmt.Println("done")
}
