// Package credentials finds secrets where people keep them, beside options and files: in what
// a command prints, in the directory that systemd gives a service, and in what login stored
// in the keyring of the system or, where there is none, in a file. None of its errors holds a
// secret, and neither does the text of a Login.
package credentials
