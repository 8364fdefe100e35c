package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/credentials"
)

// ReadCaller reads the credentials: those of the options; missing ones from the service manager,
// and then from the stored login.
func ReadCaller(c *cli.Context, s *Mount) error {
	if given := command.InvocationOf(c.Context).Given; given != nil { // the first process has asked
		s.Client.Credentials, s.Login, s.Identity = apiclient.Credentials(given.Credentials), given.Login, given.Identity
		return nil
	}
	cred, err := command.ReadCredentials(c)
	if err != nil {
		return err
	}
	if s.Embedded {
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
	s.Client.Credentials, s.Login = cred, stored
	if err := cred.Validate(); err != nil {
		return WrongSetting(err)
	}
	return nil
}

// BoundTo is the identity to which state is bound: the address of the service, and who the user is.
func (s *Mount) BoundTo(address string) string {
	return address + " " + cmp.Or(s.Identity, s.Client.Credentials.Identity())
}

// noKey is the error for a missing API key. none is the error of the search for a login.
func (s *Mount) noKey(none error) error {
	why := ""
	if none != nil && none.Error() != credentials.ErrNone.Error() {
		why = " (" + none.Error() + ")"
	}
	operand := " --base-url URL"
	if s.Profile != "" {
		operand = " " + s.Profile
	}
	return wrongSecret("api-key", fmt.Errorf("an API key is required; archivefs login%s asks for it and keeps it%s", operand, why))
}

// fromDirectory adds missing credentials from the service manager.
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

// fromLogin adds missing credentials from the stored login, and returns where that is stored; empty
// if it was not needed.
func (s *Mount) fromLogin(ctx context.Context, cred *apiclient.Credentials) (place string, err error) {
	if cred.APIKey != "" && (cred.User == "" || cred.Password != "") {
		return "", nil
	}
	address, err := apiclient.Address(s.Client.BaseURL)
	if err != nil {
		return "", WrongSetting(err)
	}
	store, err := OpenStore()
	if err != nil { // a system service has no home
		return "", fmt.Errorf("%w: %w", credentials.ErrNone, err)
	}
	login, place, err := store.Get(ctx, s.LoginName(address))
	if err != nil {
		return "", err
	}
	if login.Service != address {
		return "", config.Usagef("the login of %s is for %s, and not for %s; archivefs login %s asks for new credentials",
			s.Profile, login.Service, address, s.Profile)
	}
	if cred.APIKey == "" {
		cred.APIKey, s.Identity = login.APIKey, cmp.Or(s.Identity, login.Identity)
	}
	if cred.User == "" && cred.CloudID == "" {
		cred.User, cred.CloudID = login.User, login.CloudID
	}
	if cred.User == login.User && cred.Password == "" {
		cred.Password = login.Password
	}
	return place, nil
}

// LoginName is the name of a stored login: the profile, or the address if there is none. A profile
// never has the name of an address.
func (s *Mount) LoginName(address string) string {
	if s.Profile != "" {
		return s.Profile
	}
	return address
}

// OpenStore returns the store of logins.
func OpenStore() (*credentials.Store, error) {
	dir, err := config.LoginDir()
	if err != nil {
		return nil, err
	}
	return &credentials.Store{Dir: dir}, nil
}

// WrongSetting names the option in an error about a setting of the client.
func WrongSetting(err error) error {
	options := map[apiclient.Setting]string{
		apiclient.SettingBaseURL:  "base-url",
		apiclient.SettingCloudID:  "cloud-id",
		apiclient.SettingUser:     "user",
		apiclient.SettingProxy:    "proxy",
		apiclient.SettingCAFile:   "ca-file",
		apiclient.SettingCertFile: "client-cert",
	}
	wrong := new(apiclient.SettingError)
	switch {
	case !errors.As(err, &wrong):
		return config.Usagef("%v", err)
	case wrong.Setting == apiclient.SettingAPIKey:
		return wrongSecret("api-key", wrong.Err)
	case wrong.Setting == apiclient.SettingPassword:
		return wrongSecret("password", wrong.Err)
	}
	return config.WrongOption(options[wrong.Setting], "%v", wrong.Err)
}

// wrongSecret is the error for a secret of an option, or of its file.
func wrongSecret(option string, err error) error {
	return &config.UsageError{
		Options: []string{option, option + "-file"}, Reason: fmt.Sprintf("--%s or --%s-file: %v", option, option, err),
	}
}
