// Judges histories of one key with Porcupine, an independent linearizability checker.
//
// Standard input holds histories in the text form of crates/fawn-sim's History::to_text, each followed by a line "end".
// For each, a line goes to standard output: "ok", "illegal", or "unknown" when the time was too short.
//
// The model is written from the words of crates/fawn-sim/src/history/kv.rs, not from its code. `cargo xtask porcupine`
// runs this program.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// The time for one history.
const patience = time.Second

// What the key is. Numbers of versions are 1 or more.
type state struct {
	present bool
	// Digits; none where a win made something.
	text string
	// Whether the text is out of date, and whether a client has won the right to refresh it.
	stale, won bool
	// The number of what is there; 0 while nobody has been told it. It is larger than told then.
	number uint64
	// The largest number that anybody has been told.
	told uint64
}

// An operation or an outcome: its name, its numbers, and further words; a number that was not told is absent from
// `known`.
type words struct {
	name    string
	numbers []uint64
	known   []bool
	further []string
}

func (w words) says(word string) bool {
	for _, further := range w.further {
		if further == word {
			return true
		}
	}
	return false
}

func step(before, input, output interface{}) (bool, interface{}) {
	s := before.(state)
	if output == nil {
		return true, effect(s, input.(words))
	}
	after, ok := outcome(s, input.(words), output.(words))
	return ok, after
}

// The state after an operation of unknown outcome took effect, where it has one. That it never did is the same as that
// it did so after everything else.
func effect(s state, input words) state {
	after, ok := s, false
	switch input.name {
	case "put":
		after, ok = s.write(input.numbers[0], 0)
	case "delete":
		after, ok = s.remove(), true
	case "expire":
		if s.present && s.value() == input.numbers[0] {
			after, ok = s.remove(), true
		}
	case "cas":
		if same, is := s.learn(input.numbers[0]); is {
			after, ok = same.write(input.numbers[1], 0)
		}
	case "add":
		if !s.present {
			after, ok = s.write(input.numbers[0], 0)
		}
	case "replace":
		if s.present {
			after, ok = s.write(input.numbers[0], 0)
		}
	case "increment", "decrement":
		if s.present || len(input.numbers) > 1 {
			after, ok = s.count(input, 0)
		}
	case "append", "prepend":
		if s.present || input.says("or-store") {
			after, ok = s.extend(input, 0)
		}
	case "invalidate":
		if s.present {
			after, ok = s.invalidate(), true
		}
	case "win":
		if s.present {
			after, _ = s.win(input)
			ok = true
		} else if input.says("or-make") {
			after, ok = s.vivify(0)
		}
	}
	if !ok {
		return s
	}
	return after
}

// The state after the operation had this outcome, and whether it can have.
func outcome(s state, input, output words) (state, bool) {
	if output.name == "refused" {
		return s, true
	}
	switch input.name + " " + output.name {
	case "get miss", "delete not-found", "cas not-found", "increment not-found", "replace not-stored",
		"touch not-found", "invalidate not-found":
		return s, !s.present
	case "decrement not-found":
		return s, !s.present && len(input.numbers) == 1
	case "append not-stored", "prepend not-stored":
		return s, !s.present && !input.says("or-store")
	case "win miss":
		return s, !s.present && !input.says("or-make")
	case "add not-stored", "touch touched":
		return s, s.present
	case "get hit":
		return s.show(output)
	case "delete gone":
		return s.remove(), true
	case "expire gone":
		if s.present && s.value() == input.numbers[0] {
			return s.remove(), true
		}
		return s, true
	case "delete deleted":
		return s.remove(), s.present
	case "invalidate deleted":
		return s.invalidate(), s.present
	case "put stored":
		return s.write(input.numbers[0], output.numbers[0])
	case "add stored":
		after, ok := s.write(input.numbers[0], output.numbers[0])
		return after, ok && !s.present
	case "replace stored":
		after, ok := s.write(input.numbers[0], output.numbers[0])
		return after, ok && s.present
	case "append stored", "prepend stored":
		after, ok := s.extend(input, output.numbers[0])
		return after, ok && (s.present || input.says("or-store"))
	case "cas exists":
		return s, s.present && !(s.number != 0 && s.number == input.numbers[0])
	case "cas stored":
		same, is := s.learn(input.numbers[0])
		if !is {
			return s, false
		}
		return same.write(input.numbers[1], output.numbers[0])
	case "increment non-numeric", "decrement non-numeric":
		return s, s.present && s.text == ""
	case "increment number", "decrement number":
		if !s.present && len(input.numbers) == 1 {
			return s, false
		}
		after, ok := s.count(input, output.numbers[1])
		return after, ok && after.value() == output.numbers[0]
	case "win item":
		same, ok := s.show(output)
		after, wins := same.win(input)
		return after, ok && output.says("stale") == s.stale && output.says("won") == wins && output.says("taken") == s.won
	case "win made":
		after, ok := s.vivify(output.numbers[0])
		return after, ok && !s.present && input.says("or-make")
	}
	return s, false
}

// The number that the digits are, of which 64 bits count; none are 0.
func (s state) value() uint64 {
	value := uint64(0)
	for _, digit := range s.text {
		value = 10*value + uint64(digit-'0')
	}
	return value
}

// A version is written whose number is told (or not, 0). Nobody has won it, and it is not stale.
func (s state) write(value, number uint64) (state, bool) {
	return state{present: true, text: strconv.FormatUint(value, 10), told: s.told}.renumber(number)
}

// What is there is a new version.
func (s state) renumber(number uint64) (state, bool) {
	if number == 0 {
		s.number = 0
		return s, true
	}
	ok := number > s.told
	s.number, s.told = number, number
	return s, ok
}

// A counter's step, or its beginning. It is written over what is there as far as that is long enough, zeros before it, and
// leaves the marks alone then; a longer one is a value of its own.
func (s state) count(input words, number uint64) (state, bool) {
	if !s.present {
		return s.write(input.numbers[1], number)
	}
	if s.text == "" {
		return s, false
	}
	value, by := s.value(), input.numbers[0]
	switch {
	case input.name == "increment":
		value += by
	case value > by:
		value -= by
	default:
		value = 0
	}
	text := fmt.Sprintf("%0*d", len(s.text), value)
	if len(text) > len(s.text) {
		s.stale, s.won = false, false
	}
	s.text = text
	return s.renumber(number)
}

// A digit more, at either end; where nothing is it is all there is.
func (s state) extend(input words, number uint64) (state, bool) {
	digit := strconv.FormatUint(input.numbers[0], 10)
	text := s.text + digit
	if input.name == "prepend" {
		text = digit + s.text
	}
	return state{present: true, text: text, told: s.told}.renumber(number)
}

// What is there becomes a new version that is stale, and that anybody may win. Nobody is told its number.
func (s state) invalidate() state {
	s.stale, s.won, s.number = true, false, 0
	return s
}

// A client looks at what is there, and wins it if nobody has and it is stale or that does not matter; whether it did.
func (s state) win(input words) (state, bool) {
	wins := !s.won && (s.stale || input.says("recache"))
	s.won = s.won || wins
	return s, wins
}

// Where nothing was there is an empty value, which its client has won.
func (s state) vivify(number uint64) (state, bool) {
	return state{present: true, won: true, told: s.told}.renumber(number)
}

func (s state) remove() state {
	return state{told: s.told}
}

// A client is shown the value and, perhaps, its number.
func (s state) show(output words) (state, bool) {
	if !s.present || s.value() != output.numbers[0] {
		return s, false
	}
	if !output.known[1] {
		return s, true
	}
	return s.learn(output.numbers[1])
}

// It turns out that what is there has this number.
func (s state) learn(number uint64) (state, bool) {
	if s.number != 0 || !s.present {
		return s, s.present && s.number == number
	}
	is := number > s.told
	s.number, s.told = number, number
	return s, is
}

func parse(fields []string) (words, error) {
	w := words{name: fields[0]}
	for _, field := range fields[1:] {
		if field == "-" {
			w.numbers, w.known = append(w.numbers, 0), append(w.known, false)
			continue
		}
		if field[0] < '0' || field[0] > '9' {
			w.further = append(w.further, field)
			continue
		}
		number, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return w, err
		}
		w.numbers, w.known = append(w.numbers, number), append(w.known, true)
	}
	return w, nil
}

// A history under construction. Places of lines are times: they are in order.
type history struct {
	operations []porcupine.Operation
	byNumber   map[string]int
	lines      int64
}

// Takes "TIME invoke|complete NUMBER ID WORDS...".
func (h *history) take(line string) error {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return fmt.Errorf("too few words")
	}
	w, err := parse(fields[4:])
	if err != nil {
		return err
	}
	h.lines++
	switch fields[1] {
	case "invoke":
		h.byNumber[fields[2]] = len(h.operations)
		operation := porcupine.Operation{Input: w, Call: h.lines, Return: math.MaxInt64}
		h.operations = append(h.operations, operation)
	case "complete":
		at, found := h.byNumber[fields[2]]
		if !found {
			return fmt.Errorf("operation %s was not invoked", fields[2])
		}
		h.operations[at].Output, h.operations[at].Return = w, h.lines
	default:
		return fmt.Errorf("neither invoke nor complete")
	}
	return nil
}

func judge(operations []porcupine.Operation) string {
	model := porcupine.Model{Init: func() interface{} { return state{} }, Step: step}
	switch porcupine.CheckOperationsTimeout(model, operations, patience) {
	case porcupine.Ok:
		return "ok"
	case porcupine.Illegal:
		return "illegal"
	}
	return "unknown"
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	h := history{byNumber: map[string]int{}}
	for input.Scan() {
		if input.Text() == "end" {
			fmt.Println(judge(h.operations))
			h = history{byNumber: map[string]int{}}
			continue
		}
		if err := h.take(input.Text()); err != nil {
			fmt.Fprintf(os.Stderr, "%q: %v\n", input.Text(), err)
			os.Exit(1)
		}
	}
	if err := input.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
