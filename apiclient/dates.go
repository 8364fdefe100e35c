package apiclient

import (
	"strconv"
	"strings"
	"time"
)

// dateLayouts are the forms of a date beside milliseconds since 1970. A fraction of a
// second is read with each; the blank of document data stands for the T.
var dateLayouts = [...]string{
	"2006-01-02T15:04:05",
	"2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05Z07",
	"2006-01-02T15:04",
	"2006-01-02T15:04Z07:00",
	"2006-01-02",
}

// parseDate returns the date that text is, in loc where it names no zone; the zero time
// when it is none.
func parseDate(text string, loc *time.Location) time.Time {
	if t, ok := parseUsual(text, loc); ok {
		return t
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}
	}
	if t, ok := parseMillis(text, loc); ok {
		return t
	}
	text, _, _ = strings.Cut(text, "[") // a zone's name after its offset, as java.time writes it
	if date, clock, ok := strings.Cut(text, " "); ok {
		text = date + "T" + strings.ReplaceAll(clock, " ", "")
	}
	for _, layout := range dateLayouts {
		if t, err := time.ParseInLocation(layout, strings.ToUpper(text), loc); err == nil {
			return sensible(t)
		}
	}
	return time.Time{}
}

// parseUsual reads the form that the specification shows, the first of dateLayouts, at a tenth
// of the cost: a list has two dates for each document. Days that not every month has are left
// to the layouts.
func parseUsual(text string, loc *time.Location) (time.Time, bool) {
	const form = "dddd-dd-ddTdd:dd:dd"
	if len(text) != len(form) {
		return time.Time{}, false
	}
	var numbers [6]int // year to second
	n := 0
	for i := range len(form) {
		c := text[i]
		switch {
		case form[i] != 'd' && c == form[i]:
			n++
		case form[i] == 'd' && '0' <= c && c <= '9':
			numbers[n] = numbers[n]*10 + int(c-'0')
		default:
			return time.Time{}, false
		}
	}
	year, month, day, hour, minute, second := numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
	if month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	return sensible(time.Date(year, time.Month(month), day, hour, minute, second, 0, loc)), true
}

// parseMillis reads milliseconds since 1970; 0 stands for no date.
func parseMillis(text string, loc *time.Location) (time.Time, bool) {
	n, ok := scalar{text: text}.int64()
	if !ok {
		_, err := strconv.ParseFloat(text, 64)
		return time.Time{}, err == nil
	}
	if n == 0 {
		return time.Time{}, true
	}
	return sensible(time.UnixMilli(n).In(loc)), true
}

// sensible returns t, or the zero time when its year is none that RFC 3339 can write,
// or the year 1 that stands for no date.
func sensible(t time.Time) time.Time {
	if t.Year() < 2 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}
