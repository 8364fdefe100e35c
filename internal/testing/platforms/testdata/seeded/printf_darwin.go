package seeded

import (
	"context"
	"log"
	"os"

	"example.org/seeded/say"
)

func printWrongly() {
	say.Sayf("%d", "a word")
	log.Printf("%d", "a word")
}

// fatally does not lose the cancel function where it returns: it does not return.
func fatally() {
	ctx, cancel := context.WithCancel(context.Background())
	if ctx.Err() == nil {
		log.Fatal("over")
	}
	cancel()
	os.Exit(1)
}
