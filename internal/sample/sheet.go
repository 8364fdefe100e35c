package sample

import (
	"fmt"
	"io"
	"time"

	"github.com/xuri/excelize/v2"
)

// sheet is a workbook of one sheet: a head, rows, and below the numeric columns
// their sums as formulas.
type sheet struct {
	name   string // of the sheet in the workbook
	author string
	date   time.Time
	head   []string
	rows   [][]any // strings and numbers
	sums   []int   // columns with a sum, from 0
}

// sheetSource makes an Office Open XML workbook (ECMA-376).
func sheetSource(s sheet) source {
	return func(w io.Writer) (err error) {
		f := excelize.NewFile()
		defer func() {
			if closeErr := f.Close(); err == nil {
				err = closeErr
			}
			if err != nil {
				err = fmt.Errorf("writing workbook %q: %w", s.name, err)
			}
		}()
		if err := f.SetSheetName("Sheet1", s.name); err != nil {
			return err
		}
		if err := s.properties(f); err != nil {
			return err
		}
		if err := s.fill(f); err != nil {
			return err
		}
		return f.Write(w)
	}
}

// properties sets the document properties; without dates the library's own would show.
func (s sheet) properties(f *excelize.File) error {
	at := s.date.UTC().Format(time.RFC3339)
	return f.SetDocProps(&excelize.DocProperties{
		Creator: s.author, LastModifiedBy: s.author, Title: s.name,
		Created: at, Modified: at, Language: "de-DE",
	})
}

func (s sheet) fill(f *excelize.File) error {
	if err := f.SetSheetRow(s.name, "A1", &s.head); err != nil {
		return err
	}
	for i := range s.rows {
		if err := f.SetSheetRow(s.name, cellName(0, i+1), &s.rows[i]); err != nil {
			return err
		}
	}
	last := len(s.rows)
	for _, c := range s.sums {
		formula := fmt.Sprintf("SUM(%s:%s)", cellName(c, 1), cellName(c, last))
		if err := f.SetCellFormula(s.name, cellName(c, last+1), formula); err != nil {
			return err
		}
	}
	bold, err := f.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	if err != nil {
		return err
	}
	if err := f.SetRowStyle(s.name, 1, 1, bold); err != nil {
		return err
	}
	return f.SetColWidth(s.name, "A", "H", 18)
}

// cellName returns the name of a cell, "A1" for column 0 and row 0.
func cellName(column, row int) string {
	return fmt.Sprintf("%c%d", 'A'+column, row+1)
}
