package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
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
	return cmp.Or(s.Profile, address)
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

// The file of --map-users has a section for each user of this machine, by name or number, with the
// credentials that the service knows the user by. It holds no secret, but says where one is.

// others is the section of the users that have none.
const others = "*"

// Keys of a section.
const (
	keyMount    = "mount" // true: the credentials of the mount
	keyUser     = "user"
	keyCloudID  = "cloud-id"
	keyPassword = "password"
	keyAPIKey   = "api-key"
	keyLogin    = "login"
)

// peopleKeys are the keys of a section.
func peopleKeys() []config.Option {
	keys := []config.Option{{Name: keyMount, Kind: config.Switch}, {Name: keyUser}, {Name: keyCloudID}, {Name: keyLogin}}
	for _, secret := range []string{keyPassword, keyAPIKey} {
		keys = append(keys, config.Option{Name: secret + "-file", Path: true}, config.Option{Name: secret + "-command"})
	}
	return keys
}

// People is the file of --map-users.
type People struct {
	path   string
	of     map[uint32]*section
	others *section // nil: they are refused
}

// section is a section of the file.
type section struct {
	config.Section
	file string
}

// wrong is a problem of a key of the section, or of the section itself.
func (s *section) wrong(key, format string, args ...any) config.Problem {
	line := s.Line
	if value, ok := s.Values[key]; ok {
		line = value.Line
	}
	return config.Problem{File: s.file, Line: line, Text: fmt.Sprintf(format, args...)}
}

func (s *section) text(key string) string { return s.Values[key].Text }

// ReadPeople reads the file of --map-users. It finds all mistakes that show without the secrets.
func ReadPeople(ctx context.Context, path string) (*People, error) {
	read, problems := config.Sections(path, peopleKeys())
	p := &People{path: path, of: map[uint32]*section{}}
	for i := range read {
		s := &section{read[i], path}
		if err := s.check(); err.Text != "" {
			problems = append(problems, err)
			continue
		}
		if s.Name == others {
			p.others = s
			continue
		}
		uid, err := uidOf(ctx, s.Name)
		switch before := p.of[uid]; {
		case err != nil:
			problems = append(problems, s.wrong("", "%v", err))
		case before != nil:
			problems = append(problems, s.wrong("", "the user %s is [%s] in line %d already", s.Name, before.Name, before.Line))
		default:
			p.of[uid] = s
		}
	}
	if len(read) == 0 && len(problems) == 0 {
		problems = config.Problems{{File: path, Text: "it names nobody; write a section [NAME] for each user of this machine, or [\"*\"]"}}
	}
	return p, asError(problems)
}

// asError is the error of the option, with all problems; nil without any.
func asError(problems config.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	var all []string
	for _, p := range problems.Sort() {
		all = append(all, p.String())
	}
	return config.WrongOption("map-users", "%s", strings.Join(all, "; "))
}

// check returns what is wrong in a section by itself; no text if nothing is.
func (s *section) check() (none config.Problem) {
	if s.text(keyMount) == "true" {
		for key := range s.Values {
			if key != keyMount {
				return s.wrong(key, "%s: [%s] has the credentials of the mount, and so no others", key, s.Name)
			}
		}
		return none
	}
	for _, secret := range []string{keyPassword, keyAPIKey} {
		if s.text(secret+"-file") != "" && s.text(secret+"-command") != "" {
			return s.wrong(secret+"-command", "%[1]s-command: %[1]s-file says the same: give one of them", secret)
		}
	}
	password := s.text(keyPassword+"-file") != "" || s.text(keyPassword+"-command") != ""
	key := s.text(keyAPIKey+"-file") != "" || s.text(keyAPIKey+"-command") != ""
	switch {
	case s.text(keyLogin) != "" && (password || key || s.text(keyUser) != "" || s.text(keyCloudID) != ""):
		return s.wrong(keyLogin, "login: [%s] has the credentials that were kept by archivefs login, and so no others", s.Name)
	case s.text(keyLogin) != "":
	case s.text(keyUser) != "" && s.text(keyCloudID) != "":
		return s.wrong(keyCloudID, "cloud-id: a Cloud-ID and a user exclude each other")
	case s.text(keyUser) != "" && !password:
		return s.wrong(keyUser, "user: the password is missing: give password-file or password-command")
	case s.text(keyUser) == "" && password:
		return s.wrong("", "[%s]: the password needs a user, the name at the archive service", s.Name)
	case s.text(keyUser) == "" && s.text(keyCloudID) == "" && !key:
		return s.wrong("", "[%s] says nothing: give user, login or api-key-file, or mount = true for the credentials of the mount", s.Name)
	}
	return none
}

// uidOf returns the number of a user of this machine.
func uidOf(ctx context.Context, name string) (uint32, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		if n == math.MaxUint32 {
			return 0, fmt.Errorf("%s is no number of a user", name)
		}
		return uint32(n), nil
	}
	u, err := user.Lookup(name)
	if err == nil {
		n, err := strconv.ParseUint(u.Uid, 10, 32)
		return uint32(n), err
	}
	// The program may be built without the library that knows users of a directory service.
	entry, gerr := exec.CommandContext(ctx, "getent", "passwd", "--", name).Output() //nolint:gosec // the administrator names the user
	fields := strings.Split(strings.TrimSpace(string(entry)), ":")
	if gerr != nil || len(fields) < 3 {
		return 0, fmt.Errorf("there is no user %q on this machine", name)
	}
	n, err := strconv.ParseUint(fields[2], 10, 32)
	return uint32(n), err
}

// Resolve reads the secrets. own are the credentials of the mount, whose API key is that of everybody
// who has no other; address is that of the service.
func (p *People) Resolve(ctx context.Context, own apiclient.Credentials, address string) (*apiclient.People, error) {
	all := &apiclient.People{Of: map[uint32]apiclient.Person{}}
	var problems config.Problems
	add := func(s *section) (who apiclient.Person) {
		who, err := s.resolve(ctx, own, address)
		if err.Text != "" {
			problems = append(problems, err)
		}
		return who
	}
	for uid, s := range p.of {
		all.Of[uid] = add(s)
	}
	if p.others != nil {
		who := add(p.others)
		all.Others = &who
	}
	if uid := uint32(os.Geteuid()); p.of[uid] == nil { //nolint:gosec // a user has a number
		all.Of[uid] = apiclient.Person{Name: strconv.Itoa(os.Geteuid()), Own: true} // the mount asks itself whether it answers
	}
	return all, asError(problems)
}

// resolve reads the secrets of a section.
func (s *section) resolve(ctx context.Context, own apiclient.Credentials, address string) (who apiclient.Person, wrong config.Problem) {
	who.Name = s.Name
	if s.text(keyMount) == "true" {
		who.Own = true
		return who, wrong
	}
	cred := &who.Credentials
	if name := s.text(keyLogin); name != "" {
		login, err := storedLogin(ctx, name, address)
		if err != nil {
			return who, s.wrong(keyLogin, "login: %v", err)
		}
		*cred = apiclient.Credentials{APIKey: login.APIKey, CloudID: login.CloudID, User: login.User, Password: login.Password}
	} else {
		cred.User, cred.CloudID, cred.APIKey = s.text(keyUser), s.text(keyCloudID), own.APIKey
		if wrong := s.secret(ctx, keyPassword, &cred.Password); wrong.Text != "" {
			return who, wrong
		}
		if wrong := s.secret(ctx, keyAPIKey, &cred.APIKey); wrong.Text != "" {
			return who, wrong
		}
	}
	var setting *apiclient.SettingError
	if err := cred.Validate(); errors.As(err, &setting) {
		return who, s.wrong("", "[%s]: %v", s.Name, err)
	}
	who.Own = *cred == own
	return who, wrong
}

// secret reads a secret if the section says where it is.
func (s *section) secret(ctx context.Context, name string, into *string) (none config.Problem) {
	var err error
	if path := s.text(name + "-file"); path != "" {
		if *into, err = config.ReadSecret(path); err != nil {
			return s.wrong(name+"-file", "%s-file: %v", name, err)
		}
	}
	if line := s.text(name + "-command"); line != "" {
		ctx, cancel := context.WithTimeout(ctx, credentials.CommandLimit)
		defer cancel()
		if *into, err = credentials.Command(ctx, line, nil, os.Stderr); err != nil {
			return s.wrong(name+"-command", "%s-command: %v", name, err)
		}
	}
	return none
}

// storedLogin returns the login of that name, which must be for the service.
func storedLogin(ctx context.Context, name, address string) (*credentials.Login, error) {
	address, err := apiclient.Address(address)
	if err != nil {
		return nil, err
	}
	store, err := OpenStore()
	if err != nil {
		return nil, err
	}
	login, _, err := store.Get(ctx, name)
	switch {
	case errors.Is(err, credentials.ErrNone):
		return nil, fmt.Errorf("%w of the name %s; archivefs login asks for it and keeps it", err, archive.Printable(name))
	case err != nil:
		return nil, err
	case login.Service != address:
		return nil, fmt.Errorf("that of the name %s is for %s, and not for %s", archive.Printable(name), login.Service, address)
	}
	return login, nil
}

// InWords says whom the file names.
func (p *People) InWords() string {
	text := p.path + " names " + strconv.Itoa(len(p.of)) + " users of this machine"
	if len(p.of) == 1 {
		text = p.path + " names one user of this machine"
	}
	if p.others == nil {
		return text + "; all others are refused"
	}
	return text + ", and what is for all others"
}
