package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/credentials"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

func logoutCommand() *cli.Command {
	return &cli.Command{
		Name:      "logout",
		Usage:     "forget the credentials that login keeps",
		ArgsUsage: "[PROFILE]",
		Description: "Removes what archivefs login keeps for PROFILE, or for --base-url. A mount that is running goes\n" +
			"on. With --purge it also removes the documents and listings that mounts of the archive keep on\n" +
			"this machine, unless uploads wait there to be archived.",
		Flags: slices.Concat(connectionFlags(), credentialFlags("logged in with"), []cli.Flag{
			stateDirFlag(),
			&cli.BoolFlag{Name: "purge", Usage: "remove what was read of the archive, too"},
			configFlag(),
		}),
		OnUsageError: usageError,
		Action:       logout,
	}
}

func logout(c *cli.Context) error {
	s, _, err := readLogin(c)
	if err != nil {
		return err
	}
	address, err := apiclient.Address(s.client.BaseURL)
	if err != nil {
		return wrongSetting(err)
	}
	store, err := openStore()
	if err != nil {
		return err
	}
	name := s.loginName(address)
	known, place, err := store.Get(c.Context, name)
	if err != nil && !errors.Is(err, credentials.ErrNone) {
		return err
	}
	if c.Bool("purge") {
		if err := purge(c, address, known); err != nil {
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

// purge removes the cache of the archive that the login, or the options, are for.
func purge(c *cli.Context, address string, known *credentials.Login) error {
	cred, err := readCredentials(c)
	if err != nil {
		return err
	}
	if known != nil && cred.APIKey == "" {
		address = known.Service
		cred = apiclient.Credentials{APIKey: known.APIKey, CloudID: known.CloudID, User: known.User, Password: known.Password}
	}
	if cred == (apiclient.Credentials{}) {
		return config.Usagef("--purge: there is no login, so it is not known whose cache to remove; name the credentials as for the mount")
	}
	removed, err := purgeCache(c.String("state-dir"), address+" "+cred.Identity())
	if err == nil && removed != "" {
		_, err = fmt.Fprintf(c.App.Writer, "removed %s\n", removed)
	}
	return err
}

// purgeCache removes the cache of an archive, and returns where it was; empty when there was
// none. While uploads wait nothing is removed: to send them takes the credentials.
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
	waiting, err := spool.Waiting(spoolOf(dirs.State))
	if err != nil {
		return "", fmt.Errorf("look for uploads: %w", err)
	}
	if waiting > 0 {
		return "", fmt.Errorf("%s not archived yet (in %s), so nothing was removed; mount the archive to have it sent, "+
			"see archivefs uploads list %s, or log out without --purge", doing(waiting, "upload", "is", "are"), dirs.State, doctor.Quoted(dirs.State))
	}
	if err := os.RemoveAll(dirs.Cache); err != nil {
		return "", fmt.Errorf("remove the cache: %w", err)
	}
	return dirs.Cache, nil
}
