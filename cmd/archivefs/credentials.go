package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/credentials"
)

// credentialFlags are the options of the credentials; use is what the command does with
// them.
func credentialFlags(use string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "api-key", EnvVars: env("API_KEY"), Usage: use + " the API key `KEY`"},
		&cli.StringFlag{Name: "api-key-file", EnvVars: env("API_KEY_FILE"), TakesFile: true, Usage: use + " the API key in `FILE`"},
		&cli.StringFlag{Name: "api-key-command", EnvVars: env("API_KEY_COMMAND"), Usage: use + " the API key that `COMMAND` prints as its first line"},
		&cli.StringFlag{Name: "cloud-id", EnvVars: env("CLOUD_ID"), Usage: use + " the cloud identifier `ID` beside the API key"},
		&cli.StringFlag{Name: "user", EnvVars: env("USER"), Usage: use + " the user `NAME` and a password beside the API key"},
		&cli.StringFlag{Name: "password", EnvVars: env("PASSWORD"), Usage: use + " the password `PASSWORD`"},
		&cli.StringFlag{Name: "password-file", EnvVars: env("PASSWORD_FILE"), TakesFile: true, Usage: use + " the password in `FILE`"},
		&cli.StringFlag{Name: "password-command", EnvVars: env("PASSWORD_COMMAND"), Usage: use + " the password that `COMMAND` prints as its first line"},
	}
}

// readCredentials gathers the credentials that the options name. Which sets go together is
// for the client, and for the service, to say.
func readCredentials(c *cli.Context) (apiclient.Credentials, error) {
	key, err := secret(c, "api-key")
	if err != nil {
		return apiclient.Credentials{}, err
	}
	password, err := secret(c, "password")
	if err != nil {
		return apiclient.Credentials{}, err
	}
	return apiclient.Credentials{APIKey: key, CloudID: c.String("cloud-id"), User: c.String("user"), Password: password}, nil
}

// secret is the value of an option, what stands in the file that its -file option names, or
// what the command of its -command option prints.
func secret(c *cli.Context, name string) (string, error) {
	if err := onlyOne(c, name); err != nil {
		return "", err
	}
	if file := c.String(name + "-file"); file != "" {
		return config.SecretFile(name+"-file", file)
	}
	line := c.String(name + "-command")
	if line == "" {
		return c.String(name), nil
	}
	ctx, cancel := context.WithTimeout(c.Context, credentials.CommandLimit)
	defer cancel()
	text, err := credentials.Command(ctx, line, os.Stdin, c.App.ErrWriter)
	if err != nil {
		return "", config.WrongOption(name+"-command", "%v", err)
	}
	return text, nil
}

// onlyOne refuses a secret that is given in several ways.
func onlyOne(c *cli.Context, name string) error {
	given := ""
	for _, way := range []string{name, name + "-file", name + "-command"} {
		switch {
		case c.String(way) == "":
		case given != "":
			return config.WrongTogether("%s and %s say the same: give one of them", given, way)
		default:
			given = way
		}
	}
	return nil
}

// readCaller reads with which credentials the service is called: those of the options, and
// what they lack from the service manager, and then from what login stored.
func readCaller(c *cli.Context, s *mountSettings) error {
	if given := invocationOf(c.Context).given; given != nil { // the process that was called has asked
		s.client.Credentials, s.login = apiclient.Credentials(given.Credentials), given.Login
		return nil
	}
	cred, err := readCredentials(c)
	if err != nil {
		return err
	}
	if s.embedded {
		if cred != (apiclient.Credentials{}) {
			return config.Usagef("the embedded service needs no credentials; name the service they are for with --base-url")
		}
		return nil
	}
	if err := fromDirectory(&cred); err != nil {
		return err
	}
	stored, err := s.fromLogin(c.Context, &cred)
	if err != nil && !errors.Is(err, credentials.ErrNone) {
		return err
	}
	if cred.APIKey == "" {
		return s.noKey(err)
	}
	s.client.Credentials, s.login = cred, stored
	if err := cred.Validate(); err != nil {
		return wrongSetting(err)
	}
	return nil
}

// noKey says that there is no API key. none is how the search for a login ended.
func (s *mountSettings) noKey(none error) error {
	why := ""
	if none != nil && none.Error() != credentials.ErrNone.Error() {
		why = " (" + none.Error() + ")"
	}
	operand := " --base-url URL"
	if s.profile != "" {
		operand = " " + s.profile
	}
	return wrongSecret("api-key", fmt.Errorf("an API key is required; archivefs login%s asks for it and keeps it%s", operand, why))
}

// fromDirectory takes from the service manager what the credentials lack.
func fromDirectory(cred *apiclient.Credentials) (err error) {
	if cred.APIKey == "" {
		if cred.APIKey, err = credentials.Directory("api-key"); err != nil {
			return err
		}
	}
	if cred.User != "" && cred.Password == "" {
		cred.Password, err = credentials.Directory("password")
	}
	return err
}

// fromLogin takes from what login stored what the credentials lack, if anything, and returns
// the place of that; empty when it was not needed.
func (s *mountSettings) fromLogin(ctx context.Context, cred *apiclient.Credentials) (place string, err error) {
	if cred.APIKey != "" && (cred.User == "" || cred.Password != "") {
		return "", nil
	}
	address, err := apiclient.Address(s.client.BaseURL)
	if err != nil {
		return "", wrongSetting(err)
	}
	store, err := openStore()
	if err != nil { // a service of the system has no home
		return "", fmt.Errorf("%w: %w", credentials.ErrNone, err)
	}
	login, place, err := store.Get(ctx, s.loginName(address))
	if err != nil {
		return "", err
	}
	if login.Service != address {
		return "", config.Usagef("the login of %s is for %s, and not for %s; archivefs login %s asks for new credentials",
			s.profile, login.Service, address, s.profile)
	}
	if cred.APIKey == "" {
		cred.APIKey = login.APIKey
	}
	if cred.User == "" && cred.CloudID == "" {
		cred.User, cred.CloudID = login.User, login.CloudID
	}
	if cred.User == login.User && cred.Password == "" {
		cred.Password = login.Password
	}
	return place, nil
}

// loginName is the name under which a login is stored: the profile, or the address where
// there is none. No profile is called like an address.
func (s *mountSettings) loginName(address string) string {
	if s.profile != "" {
		return s.profile
	}
	return address
}

// openStore returns the store of logins.
func openStore() (*credentials.Store, error) {
	dir, err := config.LoginDir()
	if err != nil {
		return nil, err
	}
	return &credentials.Store{Dir: dir}, nil
}
