package sample

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// germanDate returns the date as letters carry it, "14.03.2025".
func germanDate(t time.Time) string { return t.Format("02.01.2006") }

// monthName returns the German name of a month.
func monthName(m time.Month) string {
	return [...]string{
		"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August",
		"September", "Oktober", "November", "Dezember",
	}[m-1]
}

// monthFolder returns the name of a month's folder, "03-Mrz".
func monthFolder(m time.Month) string {
	short := [...]string{
		"Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
	}[m-1]
	return fmt.Sprintf("%02d-%s", int(m), short)
}

// day returns midnight of a date in UTC.
func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

// dayIn returns a day of the month.
func dayIn(rnd *rand.Rand, year int, month time.Month) time.Time {
	return day(year, month, 1+rnd.IntN(28))
}

// officeTime returns the day of t, some time between 8 and 17 o'clock.
func officeTime(rnd *rand.Rand, t time.Time) time.Time {
	return t.Add(8*time.Hour + time.Duration(rnd.IntN(9*3600))*time.Second)
}
