package main

import (
	"flag"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
)

// askPatience is how long somebody who pressed Tab waits for a mount that does not answer.
const askPatience = time.Second

// uploads offers those of the place that the first operand names, but for what stands there
// already. Where there is no such place, or it does not answer, there are none.
func (o *completion) uploads(app *cli.App, path, before, operands []string) {
	asked := make(chan []fs.UploadInfo, 1)
	go func() { asked <- listedAt(lineContext(app, path, before), seen(operands[0])) }()
	select {
	case list := <-asked:
		for i := range list {
			u := &list[i]
			command := path[len(path)-1]
			if slices.Contains(operands[1:], u.ID) || u.Directory && command == exportCommand().Name ||
				u.State == fs.StateLocal && command == retryCommand().Name {
				continue
			}
			o.offer(u.ID, u.State+": "+u.Path)
		}
	case <-time.After(askPatience):
	}
}

// listedAt are those of the place that an operand names, if it answers.
func listedAt(c *cli.Context, operand string) []fs.UploadInfo {
	_, place, err := uploadsAt(c, operand)
	if err != nil {
		return nil
	}
	defer place.Close() //nolint:errcheck // nothing was decided
	return place.List()
}

// lineContext is a command line that is not called yet, as its command would see it.
func lineContext(app *cli.App, path, before []string) *cli.Context {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range commandAt(app, path).Flags {
		_ = f.Apply(set) // a wrong value of the environment is for the command to tell
	}
	if line, err := arrange(app, append([]string{app.Name}, before...)); err == nil {
		_ = set.Parse(line[1+len(path):]) // so is a wrong option
	}
	c := cli.NewContext(app, set, nil)
	c.Command = commandAt(app, path)
	return c
}
