package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
)

func (o *completion) commands(commands []*cli.Command) {
	for _, c := range commands {
		if !c.Hidden {
			o.offer(c.Name, c.Usage)
		}
	}
}

func (o *completion) options(path []string, flags []cli.Flag) {
	all := visible(flags)
	if len(path) == 0 {
		all = append(all, cli.VersionFlag)
	}
	for _, f := range append(all, cli.HelpFlag) {
		for _, n := range f.Names() {
			o.offer(dashed(n), meaning(f))
		}
	}
}

// meaning is what an option means, without the marks around its value.
func meaning(f cli.Flag) string {
	if doc, ok := f.(cli.DocGenerationFlag); ok { // all flags of the library are
		return strings.ReplaceAll(doc.GetUsage(), "`", "")
	}
	return ""
}

// value offers values of an option; typed is what is there of it behind before.
func (o *completion) value(app *cli.App, f cli.Flag, before, typed string) {
	for _, v := range valuesOf(f.Names()[0]) {
		o.offer(before+v, "")
	}
	switch doc, _ := f.(cli.DocGenerationFlag); {
	case f.Names()[0] == "o":
		o.mountOptions(app, before, typed)
	case doc != nil && strings.Contains(doc.GetUsage(), "`FILE`"):
		o.paths = files
	case doc != nil && strings.Contains(doc.GetUsage(), "`DIR`"):
		o.paths = directories
	}
}

// valuesOf are the values of an option that takes no others.
func valuesOf(option string) []string {
	switch option {
	case "writes":
		return []string{"sync", "async"}
	case "content":
		return []string{string(fs.ContentAuto), string(fs.ContentOriginal), string(fs.ContentPDF), string(fs.ContentData)}
	case "scope":
		return []string{string(server.ScopeRead), string(server.ScopeWrite), "read,write"}
	case "log-level":
		return []string{"error", "warn", "info", "debug"}
	case "log-format":
		return []string{"text", "json"}
	case "log-to":
		return []string{"stderr", "journal", "syslog"}
	}
	return nil
}

// mountOptions offers the last of the options in the value of -o.
func (o *completion) mountOptions(app *cli.App, before, typed string) {
	before += typed[:strings.LastIndexByte(typed, ',')+1]
	o.offer(before+"ro", "refuse every change")
	_, _, flags := descend(app, []string{"mount"})
	for _, f := range visible(flags) {
		name := mountOption(f)
		if name == "" {
			continue
		}
		if takesValue([]cli.Flag{f})[f.Names()[0]] {
			name += "="
		}
		o.offer(before+name, meaning(f))
	}
}

// mountOption is how an option of mount is called in -o; empty when it should not be there:
// secrets of fstab(5) can be read by all.
func mountOption(f cli.Flag) string {
	if name := f.Names()[0]; name == "o" || slices.Contains(secretFlags, name) {
		return ""
	}
	return underscored(f.Names()[0])
}

// operands offers what the command at path takes behind some operands.
func (o *completion) operands(app *cli.App, path, before, operands []string) {
	for _, kind := range operandKinds(commandAt(app, path).ArgsUsage, len(operands)) {
		switch kind {
		case "PROFILE":
			found, _ := config.Load(configFiles(before), fileOptions()) // what is wrong there is for archivefs config check
			for _, name := range found.Profiles() {
				o.offer(name, "profile")
			}
		case "MOUNTPOINT":
			o.paths = directories
			if path[0] != "mount" {
				for _, dir := range mountedArchives() {
					o.offer(dir, "mounted archive")
				}
			}
		case "STATEDIR":
			for _, l := range leftBehindAt("", "") {
				o.offer(l.State, plural(l.uploads, "upload")+" of a mount that has ended")
			}
		case "ID":
			if path[0] == "uploads" {
				o.uploads(app, path, before, operands)
			}
		case "DIR", "BACKUP":
			o.paths = directories
		case "FILE":
			o.paths = files
		}
	}
}

// operandKinds reads which operands can be at place n, from what the help text says of
// them: [PROFILE] MOUNTPOINT takes either at first, and then a MOUNTPOINT. A|B is either, too.
func operandKinds(usage string, n int) (kinds []string) {
	fields := strings.Fields(usage)
	for i, field := range fields {
		name := strings.TrimSuffix(strings.Trim(field, "[]"), "...")
		last := i // where the operand can be at the latest
		if strings.Contains(field, "...") {
			last = n
		}
		first := i
		for j := range i {
			if strings.HasPrefix(fields[j], "[") {
				first--
			}
		}
		if first <= n && n <= last {
			kinds = append(kinds, strings.Split(name, "|")...)
		}
	}
	return kinds
}

// commandAt is the command that a path names, which must be there.
func commandAt(app *cli.App, path []string) *cli.Command {
	_, commands, _ := descend(app, path[:len(path)-1])
	for _, c := range commands {
		if c.HasName(path[len(path)-1]) {
			return c
		}
	}
	return &cli.Command{}
}

// configFiles are the configuration files that count for a command line.
func configFiles(words []string) []string {
	file := os.Getenv(env("CONFIG")[0])
	for i, word := range words {
		if value, ok := strings.CutPrefix(word, "--config="); ok {
			file = value
		} else if word == "--config" && i+1 < len(words) {
			file = words[i+1]
		}
	}
	if file == "" {
		return config.Places()
	}
	return []string{seen(file)}
}

// seen is a path as the shell will pass it: it has not seen the word yet.
func seen(path string) string {
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, below)
		}
	}
	return path
}
