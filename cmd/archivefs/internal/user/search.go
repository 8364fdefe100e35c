package user

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/query"
)

// SearchCommand is the command search, with those below it.
func SearchCommand() *cli.Command {
	return &cli.Command{
		Name:  "search",
		Usage: "save searches, which mounts show as directories",
		Description: "A saved search is the directory searches/NAME of a mount, with a link to each document that is\n" +
			"found. It is kept in the configuration file, in [searches], or in [profile.PROFILE.searches].\n\n" +
			"   archivefs search save Open 'keyword:open after:2026'\n" +
			"   ls ~/Archive/searches/Open\n\n" +
			"A QUERY is written as in .archivefs/search: words, \"phrases\", keyword:, name:, type:, after:,\n" +
			"before:, in:.",
		Subcommands: []*cli.Command{
			{
				Name:      "save",
				Usage:     "save QUERY as NAME, in place of the one that has the name",
				ArgsUsage: "NAME QUERY",
				Description: "Mounts that run show it at once, and the directories that do are printed. QUERY is one operand:\n" +
					"put it in quotes.",
				Flags:  searchFlags(),
				Action: saveSearch,
			},
			{
				Name:      "list",
				Usage:     "a line for each saved search: its name, its query, and where it is kept",
				ArgsUsage: " ",
				Flags:     append(searchFlags(), command.JSONFlag()),
				Action:    listSearches,
			},
			{
				Name:      "remove",
				Usage:     "forget a saved search; no document changes",
				ArgsUsage: "NAME",
				Flags:     searchFlags(),
				Action:    removeSearch,
			},
		},
	}
}

func searchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "profile", DefaultText: "for all mounts", Usage: "only for mounts of the profile `NAME`"},
		command.ConfigFlag(),
	}
}

// readSearches returns the configuration, the file to edit, and the profile, empty for all.
func readSearches(c *cli.Context) (files config.Files, path, profile string, err error) {
	if files, err = settings.ReadConfig(c); err != nil {
		return nil, "", "", err
	}
	profile = c.String("profile")
	if profile != "" && !files.Has(profile) {
		return nil, "", "", settings.NoProfile(files, profile, "")
	}
	return files, settings.ConfigPaths(c)[0], profile, nil
}

func saveSearch(c *cli.Context) error {
	if c.NArg() != 2 {
		return config.Usagef("save needs a NAME and a QUERY, and was given %d operands; put a QUERY of several words in quotes", c.NArg())
	}
	name, text := c.Args().First(), c.Args().Get(1)
	if err := config.CheckSearchName(name); err != nil {
		return config.Usagef("%v", err)
	}
	if _, err := query.Parse(text); err != nil {
		return config.Usagef("QUERY: %v", err)
	}
	_, path, profile, err := readSearches(c)
	if err != nil {
		return err
	}
	if err := config.SaveSearch(path, settings.FileOptions(), profile, name, text); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.App.Writer, "saved in %s\n", path); err != nil {
		return err
	}
	return eachMount(c, func(dir string) error {
		shown := filepath.Join(dir, fs.SearchesName, name)
		if _, err := os.Lstat(shown); err != nil {
			return nil //nolint:nilerr // a mount of another profile
		}
		_, err := fmt.Fprintln(c.App.Writer, shown)
		return err
	})
}

func removeSearch(c *cli.Context) error {
	if c.NArg() != 1 {
		return config.Usagef("remove needs one NAME, and was given %d operands", c.NArg())
	}
	name := c.Args().First()
	files, path, profile, err := readSearches(c)
	if err != nil {
		return err
	}
	err = config.RemoveSearch(path, settings.FileOptions(), profile, name)
	if errors.Is(err, config.ErrNoSearch) {
		return noSearch(files, profile, name)
	}
	if err != nil {
		return err
	}
	return eachMount(c, func(string) error { return nil })
}

// noSearch is the error for a search that is not in the file of the user.
func noSearch(files config.Files, profile, name string) error {
	var names []string
	for _, s := range files.Searches(profile) {
		if s.Name == name {
			return fmt.Errorf("the search %q is in %s:%d, which this command does not change there (see --profile and --config)", name, s.File, s.Line)
		}
		names = append(names, s.Name)
	}
	return fmt.Errorf("there is no search %q%s; archivefs search list shows them", name, config.Meant(name, names))
}

// searchLine is a saved search in the output of list.
type searchLine struct {
	Name  string `json:"name"`
	Query string `json:"query"`
	File  string `json:"file"`
	Line  int    `json:"line"`
}

func listSearches(c *cli.Context) error {
	if c.NArg() > 0 {
		return config.Usagef("list takes no operands, and was given %d", c.NArg())
	}
	files, _, profile, err := readSearches(c)
	if err != nil {
		return err
	}
	list := []searchLine{}
	for _, s := range files.Searches(profile) {
		list = append(list, searchLine{s.Name, s.Query, s.File, s.Line})
	}
	if c.Bool("json") {
		return command.PrintJSON(c, list)
	}
	if len(list) == 0 {
		command.Say(c.App.ErrWriter, "there is no saved search")
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 4, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s:%d\n", archive.Printable(s.Name), archive.Printable(s.Query), s.File, s.Line) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// eachMount makes the mounts of this user read their searches again, and calls do for each. It names
// those that say that they cannot.
func eachMount(c *cli.Context, do func(dir string) error) error {
	for _, dir := range mounted.Archives() {
		if mounted.Answers(dir) != nil {
			continue // another user's, or one that hangs: it reads them when it starts again
		}
		switch err := fs.RereadSearches(dir); {
		case errors.Is(err, fs.ErrSearches):
			command.Say(c.App.ErrWriter, "%v; its log says why", err)
			continue
		case err != nil: // it is another user's with --allow-other, or has ended meanwhile
			continue
		}
		if err := do(dir); err != nil {
			return err
		}
	}
	return nil
}
