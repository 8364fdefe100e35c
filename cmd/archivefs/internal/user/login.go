package user

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/credentials"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/query"
	"github.com/archivefs/archivefs/internal/spool"
)

// LoginCommand is the command login.
func LoginCommand() *cli.Command {
	return &cli.Command{
		Name:      "login",
		Usage:     "ask for the credentials of an archive service, try them, and keep them",
		ArgsUsage: "[PROFILE]",
		Description: "Asks for what the options and the profile do not say, and the service whether it is right. Then\n" +
			"it keeps the credentials in the keyring of the system, or, where there is none, in a file that\n" +
			"only you can read. Mounts of PROFILE use them; without a PROFILE, those of the same --base-url.\n\n" +
			"   archivefs login office\n" +
			"   archivefs login --base-url https://archive.example --user erika\n\n" +
			"Where standard input is no terminal, its first line is the API key, and with --user the second\n" +
			"one is the password.",
		Flags: slices.Concat(command.ConnectionFlags(), command.CredentialFlags("keep"), []cli.Flag{
			&cli.StringFlag{Name: "replaces", Usage: "they are of the same user as the API key `KEY` before, by the name that mount and doctor give it (key:...); what belongs to that goes on"},
			command.ConfigFlag(),
		}),
		Action: func(c *cli.Context) error {
			err := login(c)
			if err != nil && c.Err() != nil {
				return errors.New("it was interrupted, and nothing was changed")
			}
			return err
		},
	}
}

func login(c *cli.Context) error {
	s, all, err := settings.ReadLogin(c)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(settings.Alternatives[0], settings.Alternatives[1]) {
		if v := all.Values[name]; v.IsFromFile() && v.Text != "" {
			return config.Usagef("%s:%d says the credentials already, with %s; leave that out there to keep them by login", v.File, v.Line, name)
		}
	}
	cred, err := command.ReadCredentials(c)
	if err != nil {
		return err
	}
	if err := command.NewAsker(c.Context, c.App.Reader, c.App.ErrWriter).Complete(&cred); err != nil {
		return err
	}
	address, err := tryLogin(c, s, cred)
	if err != nil {
		return err
	}
	whose := c.String("replaces")
	if seen, err := config.LookDirs(all.Values["state-dir"].Text, address+" "+whose); whose != "" && (err != nil || !seen.Made) {
		return config.WrongOption("replaces", "no state directory on this machine belongs to %s at %s; archivefs doctor names whose there are", whose, address)
	}
	store, err := settings.OpenStore()
	if err != nil {
		return err
	}
	place, why, err := store.Put(c.Context, s.LoginName(address), &credentials.Login{
		Service: address, APIKey: cred.APIKey, CloudID: cred.CloudID, User: cred.User, Password: cred.Password,
		Identity: whose,
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("logged in to %s; the credentials are kept in %s", address, place)
	if why != nil {
		text += fmt.Sprintf(", which only you can read, because there is no keyring (%v)", why)
	}
	_, err = fmt.Fprintln(c.App.Writer, text)
	return err
}

// tryLogin requests the top of the archive, and returns the address of the service.
func tryLogin(c *cli.Context, s *settings.Mount, cred apiclient.Credentials) (string, error) {
	log := logrus.New()
	log.SetOutput(c.App.ErrWriter)
	log.SetLevel(logrus.WarnLevel)
	cfg := s.Client
	cfg.Credentials, cfg.Log = cred, log
	if err := cred.Validate(); err != nil {
		return "", settings.WrongSetting(err)
	}
	client, err := apiclient.New(cfg)
	if err != nil {
		return "", settings.WrongSetting(err)
	}
	defer client.Close()
	if _, err := client.Children(c.Context, 0); err != nil {
		return "", fmt.Errorf("not logged in at %s: %w; %s", client.BaseURL(), err, doctor.Cure(client.BaseURL(), err))
	}
	return client.BaseURL(), nil
}

// LogoutCommand is the command logout.
func LogoutCommand() *cli.Command {
	return &cli.Command{
		Name:      "logout",
		Usage:     "forget the credentials that login keeps",
		ArgsUsage: "[PROFILE]",
		Description: "Removes what archivefs login keeps for PROFILE, or for --base-url. A mount that is running goes\n" +
			"on. With --purge it also removes the documents and listings that mounts of the archive keep on\n" +
			"this machine, unless uploads wait there to be archived.",
		Flags: slices.Concat(command.ConnectionFlags(), command.CredentialFlags("logged in with"), []cli.Flag{
			command.StateDirFlag(),
			&cli.BoolFlag{Name: "purge", Usage: "remove the cached contents of the archive, too"},
			command.ConfigFlag(),
		}),
		Action: logout,
	}
}

func logout(c *cli.Context) error {
	s, all, err := settings.ReadLogin(c)
	if err != nil {
		return err
	}
	address, err := apiclient.Address(s.Client.BaseURL)
	if err != nil {
		return settings.WrongSetting(err)
	}
	store, err := settings.OpenStore()
	if err != nil {
		return err
	}
	name := s.LoginName(address)
	known, place, err := store.Get(c.Context, name)
	if err != nil && !errors.Is(err, credentials.ErrNone) {
		return err
	}
	if c.Bool("purge") {
		if err := purge(c, all.Values["identity"].Text, address, known); err != nil {
			return err
		}
	}
	if known == nil {
		_, err := fmt.Fprintf(c.App.Writer, "there was no login of %s\n", name)
		return err
	}
	if err := store.Forget(c.Context, name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "logged out of %s; the credentials are gone from %s\n", known.Service, place)
	return err
}

// purge removes the cache of the archive of the login, or of the options. identity is that of the configuration.
func purge(c *cli.Context, identity, address string, known *credentials.Login) error {
	cred, err := command.ReadCredentials(c)
	if err != nil {
		return err
	}
	if known != nil && cred.APIKey == "" {
		address, identity = known.Service, cmp.Or(identity, known.Identity)
		cred = apiclient.Credentials{APIKey: known.APIKey, CloudID: known.CloudID, User: known.User, Password: known.Password}
	}
	if cred == (apiclient.Credentials{}) {
		return config.WrongOption("purge", "there is no login, so it is not known whose cache to remove; name the credentials as for the mount")
	}
	removed, err := purgeCache(c.String("state-dir"), address+" "+cmp.Or(identity, cred.Identity()))
	if err == nil && removed != "" {
		_, err = fmt.Fprintf(c.App.Writer, "removed %s\n", removed)
	}
	return err
}

// purgeCache removes the cache of an archive, and returns its path; empty if there was none. It
// removes nothing while uploads are pending: they need the credentials.
func purgeCache(stateDir, identity string) (removed string, err error) {
	seen, err := config.LookDirs(stateDir, identity)
	if err != nil || !seen.Made {
		return "", err
	}
	dirs, err := config.OpenDirs(stateDir, identity)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, dirs.Close()) }()
	waiting, err := spool.Waiting(mounted.SpoolOf(dirs.State))
	if err != nil {
		return "", fmt.Errorf("look for uploads: %w", err)
	}
	if waiting > 0 {
		return "", fmt.Errorf("%s not archived yet (in %s), so nothing was removed; mount the archive to have it sent, "+
			"see archivefs uploads list %s, or log out without --purge", command.Doing(waiting, "upload", "is", "are"), dirs.State, doctor.Quoted(dirs.State))
	}
	if err := os.RemoveAll(dirs.Cache); err != nil {
		return "", fmt.Errorf("remove the cache: %w", err)
	}
	return dirs.Cache, nil
}

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
	var rows [][]string
	for _, s := range list {
		rows = append(rows, []string{archive.Printable(s.Name), archive.Printable(s.Query), fmt.Sprintf("%s:%d", s.File, s.Line)})
	}
	return command.PrintTable(c.App.Writer, rows)
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
