package closing

import (
	"os"
	"os/signal"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if signal.Ignored(os.Interrupt) { // by what a shell runs in the background; programs of tests shall not
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	goleak.VerifyTestMain(m)
}
