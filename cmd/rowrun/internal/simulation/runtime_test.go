package simulation

import (
	"runtime"
	"unsafe"
)

// Which of several ready cases a select takes, and which of several timers of one moment fires first, the runtime decides by
// chance: by a generator of the thread. A schedule that is to be repeated needs the same numbers again, and there is no
// supported way to ask for them. So the generator's state is looked for: the word of the thread's structure that moves on by
// the generator's step when a number is drawn. Where none does, as with another Go, a seed repeats most of a schedule only.

//go:linkname getm runtime.getm
func getm() uintptr

//go:linkname cheaprand runtime.cheaprand
func cheaprand() uint32

const (
	cheaprandStep = 0xa0761d6478bd642f
	wordsOfM      = 256
)

// chance is where the state of a thread's generator stands in its structure; below 0: it isn't known.
var chance = findChance() //nolint:gochecknoglobals // it is the process's

func wordOfM(i int) *uint64 {
	m := getm()
	return (*uint64)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&m)), i*8))
}

func findChance() int {
	if raced {
		return -1
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	found := -1
	var before [wordsOfM]uint64
	for i := range before {
		before[i] = *wordOfM(i)
	}
	cheaprand()
	for i := range before {
		if *wordOfM(i)-before[i] == cheaprandStep {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// seedChance has the runtime decide by these numbers from now on; it can only be done with a single processor.
func seedChance(seed uint64) {
	if chance >= 0 {
		*wordOfM(chance) = seed
	}
}
