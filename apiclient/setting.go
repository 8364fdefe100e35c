package apiclient

import "fmt"

// Setting names a part of a Config, in words.
type Setting string

// The settings that a SettingError can be about.
const (
	SettingBaseURL  Setting = "base URL"
	SettingAPIKey   Setting = "API key"
	SettingCloudID  Setting = "Cloud-ID"
	SettingUser     Setting = "user"
	SettingPassword Setting = "password"
	SettingCAFile   Setting = "CA file"
	SettingCertFile Setting = "client certificate"
)

// SettingError says which setting cannot be used, and why. It holds no secret.
type SettingError struct {
	Setting Setting
	Err     error
}

// Error implements error.
func (e *SettingError) Error() string { return string(e.Setting) + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *SettingError) Unwrap() error { return e.Err }

func unusable(s Setting, format string, args ...any) error {
	return &SettingError{Setting: s, Err: fmt.Errorf(format, args...)}
}
