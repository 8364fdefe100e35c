package office_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/archivefs/archivefs/internal/server/office"
)

// fonts are a table of fonts for Western Europe, Russia and Japan, and one that does not say.
const fonts = `{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fnil\fcharset204 Arial Cyr;}{\f2\fcharset128 MS Mincho;}{\f3 Tahoma;}}`

// rtfs are documents in RTF and their texts.
var rtfs = map[string]struct{ content, want string }{
	"as the book says": {
		`{\rtf1\ansi\deff0` + fonts + "{\\colortbl;\\red0\\green0\\blue0;}\r\n\\pard\\plain\\f0 Gr\\'fc\\'dfe an {\\b Eve}.\\par\r\n\\par Ende\\par}\r\n\x00",
		"Grüße an Eve.\nEnde\n",
	},
	"no version": {`{\rtf Quitte}`, "Quitte\n"},
	"of Word": {
		`{\rtf1\adeflang1025\ansi\ansicpg1252\uc1{\*\themedata 504b03}{\*\listtable{\list text;}}{\stylesheet{\ql Normal;}}{\*\generator Word 12;}` +
			`{\info{\title Ein Titel}{\author Wer}{\creatim\yr2026}}{\header \pard Kopf {\field{\*\fldinst PAGE}{\fldrslt 1}}\par}` +
			`\pard Erste{\footnote\pard {\super\chftn} Note} Zeile\line zweite{\*\bkmkstart a}{\v verborgen}\par {\listtext\'b7\tab}Punkt\par{\*\datastore 0105}}`,
		"Erste Zeile\nzweiteverborgen\n·\tPunkt\nEin Titel\nKopf 1\n Note\n",
	},
	"a table":            {`{\rtf1 \trowd\cellx1\cellx2\intbl 1\cell zwei\cell\row \intbl 3\cell\cell\row}`, "1\tzwei\t\n3\t\t\n"},
	"a table in a table": {`{\rtf1 \itap2 1\nestcell{\nonesttables\par}{\*\nesttableprops\trowd\nestrow}au\'dfen\cell\row}`, "1\t\naußen\t\n"},
	"a comment":          {`{\rtf1 Satz{\*\atnid EB}{\*\atnauthor Eve}\chatn{\*\annotation\pard {\chatn}Stimmt}.}`, "Satz.\nStimmt\n"},
	"a link":             {`{\rtf1 {\field{\*\fldinst{HYPERLINK "http://a.example"}}{\fldrslt{\ul hier}}} und {\field{\fldinst DATE}{\fldrslt heute}}}`, "hier und heute\n"},
	"a picture": {
		`{\rtf1 a{\*\shppict{\pict\pngblip 89504e470d0a}}{\nonshppict{\pict 0102}}{\pict\bin6 }}\par}b{\object\objemb{\*\objdata 01{\x}}{\result Tabelle}}}`,
		"abTabelle\n",
	},
	"a text box": {
		`{\rtf1 a{\shp{\*\shpinst\shpleft1{\sp{\sn shapeType}{\sv 202}}{\shptxt \pard Kasten\par}}{\shprslt{\*\do\dptxbx{\dptxbxtext Kasten\par}}}}{\*\do{\dptxbxtext alt}}}`,
		"aKasten\nalt\n",
	},
	"the code page of the document": {`{\rtf1\ansi\ansicpg1250\deff3` + fonts + `\u268?\f3 \'e8\'f8}`, "Ččř\n"},
	"the code pages of fonts": {
		`{\rtf1\ansi\ansicpg1252\deff0` + fonts + `\'e4{\f1 \'ce\'f2\'f7\'b8\'f2}\f2 \'93\'fa\'96\'7b\f0\'e4\f1\plain\'e4}`, "äОтчёт日本ää\n",
	},
	"a font that is not in the table": {`{\rtf1\ansi\ansicpg1251\f77 \'ce\'f2}`, "От\n"},
	"bytes that are not escaped":      {"{\\rtf1\\ansi\\ansicpg936 \xd6\xd0\r\n\xce\xc4\\par\\ansicpg950 \xa4\xa4\\par\\ansicpg949 \xc7\xd1}", "中文\n中\n한\n"},
	"of a Mac, and of nowhere":        {`{\rtf1\mac \'8a\'9f\par\ansicpg99999 \'e4}`, "äü\nä\n"},
	"Unicode": {
		`{\rtf1\ansi\uc1\u8364?\u-3913*\u196\'c4{\uc2\u228\'81\'65\u252 ab}\uc0\u223x\u-10179\u-8704\u-8704 !\u1114112}`, "€\uf0b7Ääüßx😀\ufffd!\ufffd\n",
	},
	"Unicode and a word":                {`{\rtf1\u8212\emdash a{\u8364}b\u8364\par c}`, "—a€b€\nc\n"},
	"Unicode beside the same":           {`{\rtf1 {\upr{ascii}{\*\ud{\u9786 ?}}}.}`, "☺.\n"},
	"characters by name":                {`{\rtf1 a\tab b\emdash\endash\lquote\rquote\ldblquote x\rdblquote\bullet\~\_\-\{\}\\}`, "a\tb—–‘’“x”•\u00a0-{}\\\n"},
	"escaped line ends":                 {"{\\rtf1 eins\\\r\nzwei\\\ndrei}", "eins\nzwei\ndrei\n"},
	"HTML of Outlook":                   {`{\rtf1\ansi\fromhtml1{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Guten Tag{\*\htmltag84 &nbsp;}\htmlrtf \'a0\htmlrtf0 {\*\htmltag72 </p>}\htmlrtf \par}\htmlrtf0}`, "Guten Tag\u00a0\n"},
	"no end":                            {`{\rtf1 {\b Quitte \u246`, "Quitte ö\n"},
	"too many ends":                     {`{\rtf1 Quitte}} und {Apfel}`, "Quitte\n"},
	"escapes that are none":             {`{\rtf1 \'zzQ\'e\'\par uitte\` + "\x01" + `\u x\uc-3 \bin-5 .\f99999999999999999999 !}`, "zzQ\nuittex.!\n"},
	"a picture that is longer than all": {`{\rtf1 Quitte\bin99999999 }`, "Quitte\n"},
	"groups without end":                {`{\rtf1 Quitte` + strings.Repeat(`{\b `, 20_000), "Quitte\n"},
	"nothing":                           {`{\rtf1}`, ""},
	"nothing, and padding":              {"{\\rtf1{\\pict 0102}}\r\n\x00\x00", ""},
}

func TestRTF(t *testing.T) {
	for name, test := range rtfs {
		t.Run(name, func(t *testing.T) {
			if got, err := office.RTF(strings.NewReader(test.content)); err != nil || got != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestRTFIsBounded(t *testing.T) {
	long := io.MultiReader(strings.NewReader(`{\rtf1 {\pict `), io.LimitReader(zeros{}, 1<<20), strings.NewReader("}"), io.LimitReader(zeros{}, 20<<20))
	got, err := office.RTF(long)
	if err != nil || len(got) != office.MaxText {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// zeros are digits.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("0"), len(p))), nil }

func TestRTFUnreadable(t *testing.T) {
	for _, content := range []string{
		"", `{\rt`, `{\html1 }`, "Text", `x {\rtf1 }`, `{\rtf1\ansi`, `{\rtf1{\fonttbl{\f0 Arial;}`, `{\rtf1{\pict 0102`, `{\rtf1 \par `, `{\rtf1\bin99 }`, `{\rtf1}} und {Apfel}`, `{\rtf1` + strings.Repeat("{", 20_000), "{\\rtf1\x00\x01",
	} {
		if got, err := office.RTF(strings.NewReader(content)); !errors.Is(err, office.ErrUnreadable) {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	for _, content := range []string{"", `{\rtf1 Quitte`} {
		broken := io.MultiReader(strings.NewReader(content), iotest.ErrReader(io.ErrClosedPipe))
		if _, err := office.RTF(broken); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, office.ErrUnreadable) {
			t.Errorf("%q and an error: %v", content, err)
		}
	}
}

// FuzzRTF reads anything.
func FuzzRTF(f *testing.F) {
	for _, test := range rtfs {
		f.Add([]byte(test.content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := office.RTF(bytes.NewReader(content))
		if err != nil && !errors.Is(err, office.ErrUnreadable) || !utf8.ValidString(got) || len(got) > 3*len(content)+1 {
			t.Errorf("%q, %v", got, err)
		}
	})
}
