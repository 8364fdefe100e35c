package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/server"
)

// keyJSON is a key as --json tells of it.
type keyJSON struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name,omitempty"`
	Valid     bool       `json:"valid"`
	State     string     `json:"state"` // valid, expired or revoked
	Scopes    []string   `json:"scopes"`
	Mandators []string   `json:"mandators,omitempty"`
	Created   time.Time  `json:"created"`
	Expires   *time.Time `json:"expires,omitempty"`
	Revoked   *time.Time `json:"revoked,omitempty"`
	Used      *time.Time `json:"used,omitempty"`
}

func listKeys(c *cli.Context, a *server.Admin) error {
	keys, err := a.Keys(c.Context)
	if err != nil {
		return err
	}
	now := time.Now()
	told, rows := make([]keyJSON, 0, len(keys)), [][]string{{"ID", "STATE", "SCOPES", "MANDATORS", "ADDED", "USED", "ENDS", "NAME"}}
	for i := range keys {
		k := &keys[i]
		told = append(told, keyJSON{
			ID: k.ID, Name: k.Name, Valid: k.Valid, State: keyState(k), Scopes: k.Scopes, Mandators: k.Mandators,
			Created: k.Created, Expires: optionalTime(k.Expires), Revoked: optionalTime(k.Revoked), Used: optionalTime(k.Used),
		})
		rows = append(rows, []string{
			decimal(k.ID), keyState(k), strings.Join(k.Scopes, ","), mandatorsInWords(k.Mandators), k.Created.Local().Format(time.DateTime),
			keyUse(k, now), keyEnd(k, now), k.Name,
		})
	}
	if c.Bool("json") {
		return printJSON(c, told)
	}
	return printTable(c, rows...)
}

// optionalTime is nil for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func keyState(k *server.Key) string {
	switch {
	case k.Valid:
		return "valid"
	case k.Revoked.IsZero():
		return "expired"
	}
	return "revoked"
}

// keyUse says how long ago a key was used.
func keyUse(k *server.Key, now time.Time) string {
	if k.Used.IsZero() {
		return "never"
	}
	return span(now.Sub(k.Used)) + " ago"
}

// keyEnd says when a key ends, or has ended.
func keyEnd(k *server.Key, now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return moment(k.Revoked) + ", " + span(now.Sub(k.Revoked)) + " ago"
	case k.Expires.IsZero():
		return "never"
	case k.Valid:
		return moment(k.Expires) + ", in " + span(k.Expires.Sub(now))
	}
	return moment(k.Expires) + ", " + span(now.Sub(k.Expires)) + " ago"
}

// moment is a time for people anywhere, to the second.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// span is a time that has passed or is left, in a unit of which there are at least two.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/day)
}

func mandatorsInWords(names []string) string {
	if len(names) == 0 {
		return "all"
	}
	return strings.Join(names, ", ")
}
