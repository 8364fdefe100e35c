// Package credentials finds secrets beside options and files: in the output of a command, in the
// directory that systemd gives a service, and where login stored them, which is the keyring of
// the system or, where there is none, a file. No error and no text of a Login holds a secret.
package credentials
