package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/credentials"
	"github.com/archivefs/archivefs/internal/doctor"
)

func loginCommand() *cli.Command {
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
		Flags:        slices.Concat(connectionFlags(), credentialFlags("keep"), []cli.Flag{configFlag()}),
		OnUsageError: usageError,
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
	s, all, err := readLogin(c)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(alternatives[0], alternatives[1]) {
		if v := all.values[name]; v.IsFromFile() && v.Text != "" {
			return config.Usagef("%s:%d says the credentials already, with %s; leave that out there to keep them by login", v.File, v.Line, name)
		}
	}
	cred, err := readCredentials(c)
	if err != nil {
		return err
	}
	if err := newAsker(c.Context, c.App.Reader, c.App.ErrWriter).complete(&cred); err != nil {
		return err
	}
	address, err := tryLogin(c, s, cred)
	if err != nil {
		return err
	}
	store, err := openStore()
	if err != nil {
		return err
	}
	place, why, err := store.Put(c.Context, s.loginName(address), &credentials.Login{
		Service: address, APIKey: cred.APIKey, CloudID: cred.CloudID, User: cred.User, Password: cred.Password,
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

// readLogin reads which service a login is about.
func readLogin(c *cli.Context) (*mountSettings, *choices, error) {
	profile, err := onlyProfile(c)
	if err != nil {
		return nil, nil, err
	}
	files, err := readConfig(c)
	if err != nil {
		return nil, nil, err
	}
	all, err := choose(c, files, profile)
	if err != nil {
		return nil, nil, err
	}
	s := &mountSettings{profile: profile}
	if err := readService(c, s); err != nil {
		return nil, nil, all.blame(err)
	}
	if s.embedded {
		return nil, nil, config.Usagef("%s is about an archive service: name it with --base-url, or name a profile that does; "+
			"an archive of your own needs no credentials", c.Command.Name)
	}
	return s, all, nil
}

// tryLogin asks the service for the top of the archive, and returns its address.
func tryLogin(c *cli.Context, s *mountSettings, cred apiclient.Credentials) (string, error) {
	log := logrus.New()
	log.SetOutput(c.App.ErrWriter)
	log.SetLevel(logrus.WarnLevel)
	cfg := s.client
	cfg.Credentials, cfg.Log = cred, log
	if err := cred.Validate(); err != nil {
		return "", wrongSetting(err)
	}
	client, err := apiclient.New(cfg)
	if err != nil {
		return "", wrongSetting(err)
	}
	defer client.Close()
	if _, err := client.Children(c.Context, 0); err != nil {
		return "", fmt.Errorf("not logged in at %s: %w; %s", client.BaseURL(), err, doctor.Cure(client.BaseURL(), err))
	}
	return client.BaseURL(), nil
}
